"""The timeline of worker slots."""

import pytest

from app.domain.monitoring.timeline import (
    Slot,
    SlotAssignment,
    SlotAttempt,
    merge_bursts,
    utilisation,
)
from counterpoise.wire.codes import Outcome

NOW = 1000.0
MASS, DRAG = 1, 2


def attempt(
    number: int,
    start: float,
    end: float | None,
    *,
    worker: int = 7,
    objective: int = MASS,
    outcome: Outcome = Outcome.DONE,
) -> SlotAttempt:
    is_over = end is not None
    return SlotAttempt(
        id=number,
        job=number,
        number=1,
        objective=objective,
        worker=worker,
        started_at=start,
        ended_at=end,
        outcome=outcome if is_over else None,
        failure=None,
    )


def assign(*attempts: SlotAttempt) -> list[tuple[SlotAttempt, Slot]]:
    slots = SlotAssignment(NOW)
    return [(each, slots.assign(each)) for each in attempts]


def test_an_attempt_takes_the_lowest_free_slot_of_its_worker() -> None:
    assigned = assign(
        attempt(1, 0.0, 10.0),
        attempt(2, 1.0, 3.0),
        attempt(3, 1.0, 4.0, worker=8),
        attempt(4, 2.0, None),
        attempt(5, 3.0, 5.0),
        attempt(6, 10.0, 11.0),
    )
    assert [slot for _, slot in assigned] == [
        (7, 0),
        (7, 1),
        (8, 0),
        (7, 2),
        (7, 1),
        (7, 0),
    ]


def test_a_slot_is_handed_over_before_its_result_is_stored() -> None:
    slots = SlotAssignment(NOW, declared={7: 1})
    one_after_the_other = [attempt(1, 0.0, 2.0), attempt(2, 1.99, 4.0)]
    assert [slots.assign(each) for each in one_after_the_other] == [(7, 0), (7, 0)]
    assert slots.assign(attempt(3, 3.0, None)) == (7, 1)  # a second one all the same
    assert slots.assign(attempt(4, 3.99, 4.0)) == (7, 0)


def test_attempts_leased_at_once_have_slots_of_their_own() -> None:
    slots = SlotAssignment(NOW, declared={7: 1})
    together = [attempt(1, 0.0, 0.1), attempt(2, 0.0, 0.1)]
    assert [slots.assign(each) for each in together] == [(7, 0), (7, 1)]


def test_declared_slots_are_used_before_one_is_handed_over() -> None:
    slots = SlotAssignment(NOW, declared={7: 2})
    overlapping = [attempt(1, 0.0, 2.0), attempt(2, 1.99, 4.0)]
    assert [slots.assign(each) for each in overlapping] == [(7, 0), (7, 1)]


def test_slots_continue_from_the_attempts_that_hold_them() -> None:
    slots = SlotAssignment(NOW)
    for each in (attempt(1, 0.0, 2.0), attempt(2, 1.0, 9.0)):
        slots.assign(each)
    held = list(slots.held_at(5.0))
    assert [(each.id, number) for each, number in held] == [(2, 1)]
    continued = SlotAssignment(NOW)
    for each, number in held:
        continued.occupy(each, number)
    assert continued.assign(attempt(3, 5.0, 6.0)) == (7, 0)
    assert continued.assign(attempt(4, 5.5, 6.0)) == (7, 2)


def test_short_attempts_that_follow_each_other_become_one_bar() -> None:
    assigned = assign(
        attempt(1, 0.0, 0.5),
        attempt(2, 1.0, 1.5, objective=DRAG, outcome=Outcome.FAILED),
        attempt(3, 1.6, 9.0),  # long
        attempt(4, 9.0, 9.1),
        attempt(5, 20.0, 20.1),  # after a gap
        attempt(6, 20.2, None),  # runs
    )
    bars = merge_bursts(assigned, resolution_s=1.0, now=NOW)
    assert [[each.id for each in bar.attempts] for bar in bars] == [
        [1, 2],
        [3],
        [4],
        [5],
        [6],
    ]
    assert (bars[0].start, bars[0].end, bars[0].failed) == (0.0, 1.5, 1)
    assert bars[0].only is None
    assert bars[-1].end == NOW


def test_resolution_zero_merges_nothing() -> None:
    assigned = assign(attempt(1, 0.0, 0.0), attempt(2, 0.0, 0.0))
    assert len(merge_bursts(assigned, 0.0, NOW)) == 2


def test_utilisation_counts_what_slots_did_in_the_span() -> None:
    assigned = assign(
        attempt(1, 0.0, 10.0, objective=DRAG),
        attempt(2, 12.0, 14.0),
        attempt(3, 18.0, 30.0, objective=DRAG),
        attempt(4, 0.0, 1.0, worker=8),
    )
    times = utilisation(assigned, 5.0, 20.0, NOW, {})
    drag, mass = times[DRAG], times[MASS]
    assert (drag.slots, drag.busy_s, drag.other_s, drag.idle_s) == (1, 7.0, 2.0, 6.0)
    assert drag.share == pytest.approx(9.0 / 15.0)
    # worker 8 ended before the span
    assert (mass.slots, mass.busy_s) == (1, 2.0)


@pytest.mark.parametrize(
    ("seen_until", "idle_s"), [(2.0, 1.0), (7.0, 5.0), (50.0, 8.0)]
)
def test_a_slot_idles_after_its_last_run_while_its_worker_is_there(
    seen_until: float, idle_s: float
) -> None:
    assigned = assign(attempt(1, 0.0, 2.0), attempt(2, 3.0, 3.0))
    times = utilisation(assigned, 0.0, 10.0, NOW, {7: seen_until})
    assert times[MASS].idle_s == idle_s
