from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.planning.stepping import (
    Decision,
    Finish,
    Generation,
    Nothing,
    Progress,
    SearchStep,
    Stream,
    due,
    planned_ahead,
    supersedes,
)
from counterpoise.wire.codes import Phase

# n = 109, r = (5, 5, 1): 545 evaluations of each cheap objective, in generations of 50.
INITIAL = Progress(Phase.INITIAL, 109, 300, 109, 109, 0, 3, (5.0, 5.0, 1.0), (0, 1))
SEARCH = replace(INITIAL, phase=Phase.SEARCH, unsettled_full=0, step=1, planned=112)


def test_after_a_step_without_a_point_the_next_one_waits_for_all_that_runs() -> None:
    overlapped = replace(SEARCH, overlap=4, unsettled_full=1)
    assert due(overlapped) == SearchStep(2, 3)
    assert due(replace(overlapped, found_no_point=True)) == Nothing()
    settled = replace(overlapped, found_no_point=True, unsettled_full=0)
    assert due(settled) == SearchStep(2, 3)


def streams(*triples: tuple[int, int, int]) -> tuple[Stream, ...]:
    return tuple(Stream(j, *triple) for j, triple in enumerate(triples))


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ((0, 109, 109), Nothing()),  # the design itself is generation 0
        ((0, 109, 26), Nothing()),
        ((0, 109, 25), Generation(0, 1, 50)),  # due at lambda / 2
        ((1, 159, 26), Nothing()),
        ((1, 159, 25), Generation(0, 2, 50)),
        ((8, 509, 0), Generation(0, 9, 36)),  # the last one is cut to n r_j = 545
        ((9, 545, 0), Nothing()),
        ((9, 600, 0), Nothing()),  # the ratio went down meanwhile
    ],
)
def test_when_the_next_generation_of_a_stream_is_due(
    first: tuple[int, int, int], expected: Decision
) -> None:
    assert due(replace(INITIAL, streams=streams(first, (0, 109, 109)))) == expected


def test_streams_are_served_one_after_the_other() -> None:
    progress = replace(INITIAL, streams=streams((9, 545, 0), (2, 209, 3)))
    assert due(progress) == Generation(1, 3, 50)


def test_an_objective_that_does_not_count_as_cheap_has_no_stream() -> None:
    progress = replace(INITIAL, streams=streams((0, 109, 0), (0, 109, 0)))
    assert due(progress) == Generation(0, 1, 50)
    assert due(replace(progress, cheap=(1,))) == Generation(1, 1, 50)


def test_a_ratio_that_is_measured_late_opens_its_stream_late() -> None:
    unknown = replace(
        INITIAL, ratios=(1.0, 1.0, 1.0), cheap=(), streams=streams((0, 109, 0))
    )
    assert due(unknown) == Nothing()
    # Cluster(2.9) n = 218
    assert due(replace(unknown, ratios=(2.9, 1.0, 1.0), cheap=(0,))) == Generation(
        0, 1, 50
    )
    assert due(
        replace(
            unknown, ratios=(2.9, 1.0, 1.0), cheap=(0,), streams=streams((2, 209, 0))
        )
    ) == Generation(0, 3, 9)


def test_a_small_design_is_waited_for_by_half() -> None:
    small = replace(INITIAL, n=10, planned=10, unsettled_full=10)
    assert due(replace(small, streams=streams((0, 10, 6)))) == Nothing()
    assert due(replace(small, streams=streams((0, 10, 5)))) == Generation(0, 1, 40)


def test_search_begins_when_the_design_is_settled_whatever_the_streams_do() -> None:
    settled = replace(
        INITIAL, unsettled_full=0, streams=streams((1, 159, 50), (1, 159, 0))
    )
    assert due(settled) == SearchStep(1, 3)
    assert due(replace(settled, unsettled_full=1, streams=())) == Nothing()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, SearchStep(2, 3)),
        ({"unsettled_full": 1}, Nothing()),
        ({"planned": 298}, SearchStep(2, 2)),  # the last batch is cut
        ({"planned": 300}, Finish()),
        ({"planned": 300, "unsettled_full": 1}, Nothing()),
        ({"planned": 301}, Finish()),
        ({"planned": 300, "phase": Phase.FINISHED}, Nothing()),
        ({"planned": 300, "budget": 310}, SearchStep(2, 3)),  # extended
        (
            {"step": 10**12, "planned": 10**15, "budget": 10**16, "batch": 10**18},
            SearchStep(10**12 + 1, 9 * 10**15),
        ),
        (
            {"unsettled_full": 3, "streams": streams((1, 159, 0))},
            Nothing(),
        ),  # streams end with the initial phase
    ],
)
def test_when_the_next_step_is_due(changes: dict[str, Any], expected: Decision) -> None:
    assert due(replace(SEARCH, **changes)) == expected


def test_a_budget_that_the_design_uses_up_ends_the_study_without_search() -> None:
    assert due(replace(INITIAL, budget=109, unsettled_full=0)) == Finish()


def test_huge_counts_do_not_overflow() -> None:
    n, r = 2**62, float(2**60)
    progress = replace(
        INITIAL,
        n=n,
        ratios=(r, 1.0, 1.0),
        cheap=(0,),
        lam=2**100,
        streams=streams((1, n, 0)),
    )
    assert due(progress) == Generation(0, 2, 2**100)
    assert due(replace(progress, lam=2**130)) == Generation(0, 2, 2**122 - 2**62)


def test_what_a_decision_makes_pointless() -> None:
    assert supersedes(SearchStep(4, 3))
    assert supersedes(Finish())
    assert not supersedes(Generation(0, 1, 50))
    assert not supersedes(Nothing())


@given(
    n=st.integers(1, 200),
    budget=st.integers(1, 300),
    batch=st.integers(1, 7),
    r=st.integers(1, 9),
)
def test_a_study_driven_by_the_rule_spends_exactly_its_budget(
    n: int, budget: int, batch: int, r: int
) -> None:
    """Everything is settled at once; each decision is applied and the rule is asked
    again until nothing is due.
    """
    n = min(n, budget)
    cheap = (0,) if r > 1 else ()
    streams = tuple(Stream(j, 0, n, 0) for j in cheap)
    p = Progress(
        Phase.INITIAL, n, budget, n, n, 0, batch, (float(r), 1.0), cheap, streams
    )
    seen: list[Decision] = []
    while (decision := due(p)) != Nothing() or p.phase == Phase.INITIAL:
        seen.append(decision)
        match decision:
            case Generation(_, number, size):
                p = replace(
                    p, streams=(Stream(0, number, p.streams[0].planned + size, 0),)
                )
            case SearchStep(number, size):
                p = replace(
                    p, phase=Phase.SEARCH, step=number, planned=p.planned + size
                )
            case Finish():
                p = replace(p, phase=Phase.FINISHED)
            case Nothing():
                # The streams are through, and now the expensive objective is too
                p = replace(p, unsettled_full=0)
    assert p.planned == budget
    assert p.phase == Phase.FINISHED
    assert all(stream.planned == n * r for stream in p.streams)
    assert len(set(seen)) == len(seen)  # nothing happens twice


def search(
    unsettled: int, overlap: int, batch: int | None = 3, slots: int = 0
) -> Decision:
    return due(
        replace(
            SEARCH,
            unsettled_full=unsettled,
            overlap=overlap,
            batch=batch,
            slots=slots,
        )
    )


def test_a_step_is_due_while_at_most_overlap_samples_run() -> None:
    assert search(unsettled=8, overlap=7) == Nothing()
    assert search(unsettled=7, overlap=7) == SearchStep(2, 3)
    assert search(unsettled=0, overlap=7) == SearchStep(2, 3)
    assert search(unsettled=1, overlap=0) == Nothing()  # the paper's barrier


def test_an_automatic_batch_fills_the_free_slots() -> None:
    assert search(unsettled=0, overlap=7, batch=None, slots=8) == SearchStep(2, 8)
    assert search(unsettled=5, overlap=7, batch=None, slots=8) == SearchStep(2, 3)
    assert search(unsettled=7, overlap=7, batch=None, slots=8) == SearchStep(2, 1)
    # A declared batch is the least
    assert search(unsettled=0, overlap=7, batch=3, slots=8) == SearchStep(2, 8)
    assert search(unsettled=7, overlap=7, batch=3, slots=8) == SearchStep(2, 3)
    # Whatever the declared overlap
    assert search(unsettled=0, overlap=0, batch=None, slots=8) == SearchStep(2, 8)
    assert search(unsettled=9, overlap=12, batch=None, slots=8) == SearchStep(2, 1)
    assert search(unsettled=0, overlap=0, batch=None, slots=0) == SearchStep(2, 1)


def test_search_begins_when_the_whole_design_is_settled_whatever_the_overlap() -> None:
    initial = replace(INITIAL, overlap=200)
    assert due(replace(initial, unsettled_full=1)) == Nothing()
    assert due(replace(initial, unsettled_full=0)) == SearchStep(1, 3)


def test_a_study_ends_when_its_last_samples_are_settled() -> None:
    used_up = replace(SEARCH, planned=300, overlap=7)
    assert due(replace(used_up, unsettled_full=3)) == Nothing()
    assert due(replace(used_up, unsettled_full=0)) == Finish()


@pytest.mark.parametrize(
    ("slots", "planning_s", "duration_s", "expected"),
    [
        (8, 0.3, 3600.0, 0),  # negligible
        # 8 runs end every second, 2.4 of them while a step is planned: 4.8 in two
        (8, 0.3, 1.0, 5),
        (1, 0.3, 1.0, 1),
        (8, 100.0, 1.0, 16),  # never more than twice the slots
        (0, 0.3, 1.0, 0),
        (8, 0.3, 0.0, 16),
        (4, 0.02, 1.0, 0),  # exactly a fiftieth
    ],
)
def test_samples_planned_ahead(
    slots: int, planning_s: float, duration_s: float, expected: int
) -> None:
    assert planned_ahead(slots, planning_s, duration_s) == expected


@settings(deadline=None)  # on a loaded machine
@given(
    slots=st.integers(1, 32),
    batch=st.one_of(st.none(), st.integers(1, 10)),
    budget=st.integers(1, 100),
    rng=st.randoms(use_true_random=False),
)
def test_no_slot_is_free_while_the_budget_lasts(
    slots: int, batch: int | None, budget: int, rng: Random
) -> None:
    """Runs end in any order; every decision is applied at once."""
    progress = replace(
        SEARCH,
        planned=0,
        budget=budget,
        batch=batch,
        overlap=slots - 1,
        slots=slots,
        step=0,
    )
    while progress.planned < budget or progress.unsettled_full:
        while isinstance(decision := due(progress), SearchStep):
            assert decision.size >= 1
            progress = replace(
                progress,
                step=decision.number,
                planned=progress.planned + decision.size,
                unsettled_full=progress.unsettled_full + decision.size,
            )
        assert progress.planned == budget or progress.unsettled_full >= slots
        assert progress.planned <= budget
        ended = rng.randint(1, progress.unsettled_full)
        progress = replace(progress, unsettled_full=progress.unsettled_full - ended)
    assert due(progress) == Finish()
