"""The ETA against numbers worked out by hand."""

from typing import Any

import pytest

from counterpoise.eta import Eta, eta, pools
from counterpoise.wire.codes import HealthCode
from counterpoise.wire.specification import EXAMPLE
from counterpoise.wire.views import HealthItem, ObjectiveView, StudyView, WorkerView


def objective(name: str, low: float, high: float, **given: Any) -> ObjectiveView:
    counts = dict.fromkeys(("ready", "leased", "done", "failed", "superseded"), 0)
    usual: dict[str, Any] = {
        "direction": "minimize",
        "unit": None,
        "same_run_as": None,
        "cheap": False,
        "ratio": 1.0,
    }
    return ObjectiveView(
        name=name,
        median_duration_s=low,
        duration_quartiles_s=(low, high),
        **{**usual, **counts, **given},
    )


def study(
    *objectives: ObjectiveView,
    evaluated: int = 20,
    planned: int = 20,
    budget: int = 20,
    batch_size: int | str = 5,
    **given: Any,
) -> StudyView:
    usual: dict[str, Any] = {
        "phase": "search",
        "state": "active",
        "planning_s": None,
        "health": [],
        **given,
    }
    return StudyView(
        name="wing",
        step=1,
        evaluated_full=evaluated,
        planned_full=planned,
        budget=budget,
        created_at="",
        finished_at=None,
        objectives=list(objectives),
        ratio_source="declared",
        hypervolume=None,
        spec={**EXAMPLE, "batch_size": batch_size},
        **usual,
    )


def worker(name: str, *objectives: str, slots: int = 1, **given: Any) -> WorkerView:
    usual: dict[str, Any] = {
        "first_seen_at": "",
        "last_seen_at": "",
        "jobs": [],
        "studies": ["wing"],
        **given,
    }
    return WorkerView(worker=name, objectives=list(objectives), slots=slots, **usual)


def test_one_slot_works_off_one_job_after_another() -> None:
    found = eta(study(objective("drag", 10.0, 12.0), budget=30), [worker("w", "drag")])
    assert found == Eta(100.0, 120.0)


def test_a_batch_takes_its_longest_job_however_many_slots_there_are() -> None:
    """Two batches of 5 on 50 slots: twice 10 s; at most sum / s + (1 - 1/s) longest =
    1.2 + 0.98 * 12 each.
    """
    found = eta(
        study(objective("drag", 10.0, 12.0), budget=30), [worker("w", "drag", slots=50)]
    )
    assert found.low_s == pytest.approx(20.0)
    assert found.high_s == pytest.approx(2 * (5 * 12.0 / 50 + 0.98 * 12.0))


def test_pools_work_side_by_side_and_the_slowest_counts() -> None:
    objectives = [objective("mass", 1.0, 1.0), objective("drag", 10.0, 12.0)]
    found = eta(
        study(*objectives, budget=25),
        [worker("a", "mass"), worker("b", "drag", slots=5)],
    )
    assert found.low_s == pytest.approx(10.0)
    assert found.high_s == pytest.approx(5 * 12.0 / 5 + 0.8 * 12.0)


def test_objectives_that_share_workers_share_their_slots() -> None:
    objectives = [objective("mass", 1.0, 1.0), objective("drag", 10.0, 12.0)]
    found = eta(study(*objectives, budget=25), [worker("a", "*"), worker("b", "drag")])
    assert found.low_s == pytest.approx(5 * 11.0 / 2)
    assert found.high_s == pytest.approx(5 * 13.0 / 2 + 0.5 * 12.0)


def test_workers_that_overlap_make_one_pool() -> None:
    runs = [objective(name, 1.0, 1.0) for name in "abcd"]
    found = pools(
        runs,
        [
            worker("1", "a"),
            worker("2", "b", "c", slots=2),
            worker("3", "a", "b"),
            worker("4", "d"),
        ],
    )
    shared = []
    for pool in found:
        names = [run.name for run in pool.objectives]
        shared.append((names, pool.slots))
    assert shared == [
        (["a", "b", "c"], 4),
        (["d"], 1),
    ]


def test_what_runs_may_end_at_once_or_have_just_begun() -> None:
    running = study(objective("drag", 10.0, 12.0, leased=2), evaluated=17, planned=20)
    found = eta(running, [worker("w", "drag", slots=3)])
    assert found.low_s == pytest.approx(10.0)  # one of three is still to begin
    assert found.high_s == pytest.approx(3 * 12.0 / 3 + 2 / 3 * 12.0)
    almost = study(objective("drag", 10.0, 12.0, leased=3), evaluated=17, planned=20)
    assert eta(almost, [worker("w", "drag", slots=3)]).low_s == 0.0


def test_each_batch_to_come_is_planned_first_and_the_last_may_be_smaller() -> None:
    """12 samples to come: batches of 5, 5 and 2, on one slot, with three steps of 4 s."""
    found = eta(
        study(objective("drag", 10.0, 10.0), budget=32, planning_s=4.0),
        [worker("w", "drag")],
    )
    assert found == Eta(132.0, 132.0)


def test_with_overlap_samples_follow_one_another_without_a_break() -> None:
    """40 samples are left, 8 of them run, on 8 slots; three steps of 8 to come are
    planned meanwhile, or before.
    """
    running = study(
        objective("drag", 10.0, 12.0, leased=8),
        evaluated=20,
        planned=36,
        budget=60,
        batch_size="auto",
        overlap=7,
        slow_slots=8,
        planning_s=4.0,
    )
    found = eta(running, [worker("w", "drag", slots=8)])
    assert found.low_s == pytest.approx(32 * 10.0 / 8)
    assert found.high_s == pytest.approx(3 * 4.0 + 40 * 12.0 / 8 + 7 / 8 * 12.0)


def test_a_small_overlap_leaves_slots_unused() -> None:
    """Of 50 slots at best 2 + 5 are used, at worst 3."""
    given = study(objective("drag", 10.0, 12.0), budget=62, overlap=2)
    found = eta(given, [worker("w", "drag", slots=50)])
    assert found.low_s == pytest.approx(42 * 10.0 / 7)
    assert found.high_s == pytest.approx(42 * 12.0 / 3 + 2 / 3 * 12.0)


def test_the_design_is_waited_for_as_a_whole() -> None:
    """8 of the design are left, then 16, on 8 slots."""
    given = study(
        objective("drag", 10.0, 10.0),
        evaluated=12,
        budget=36,
        batch_size="auto",
        phase="initial",
        overlap=7,
        slow_slots=8,
    )
    found = eta(given, [worker("w", "drag", slots=8)])
    assert found.low_s == pytest.approx(10.0 + 20.0)
    assert found.high_s == pytest.approx(10.0 + 8.75 + 20.0 + 8.75)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("run_hangs", "job 7 hangs"),
        ("planner_missing", "the next step is not being planned"),
    ],
)
def test_a_study_that_stands_still_has_no_expected_end(code: str, why: str) -> None:
    item = HealthItem(code=HealthCode(code), detail="", job=7)
    given = study(objective("drag", 1.0, 1.0), budget=30, health=[item])
    assert eta(given, [worker("w", "*")]) == Eta(unknown=why)


def test_an_objective_that_comes_with_another_costs_nothing() -> None:
    lift = objective("lift", 0.0, 0.0, same_run_as="drag").model_copy(
        update={"duration_quartiles_s": None}
    )
    found = eta(
        study(objective("drag", 10.0, 10.0), lift, budget=21), [worker("w", "drag")]
    )
    assert found == Eta(10.0, 10.0)


@pytest.mark.parametrize(
    ("given", "who", "why"),
    [
        ({"state": "paused"}, worker("w", "*"), "the study is paused"),
        ({}, worker("w", "mass"), "no live worker takes drag"),
        ({}, worker("w", "*", drained=True), "no live worker takes drag"),
        ({}, worker("w", "*", alive=False), "no live worker takes drag"),
        ({}, worker("w", "*", studies=["car"]), "no live worker takes drag"),
    ],
)
def test_what_is_not_known_is_not_guessed(
    given: dict[str, Any], who: WorkerView, why: str
) -> None:
    assert eta(study(objective("drag", 1.0, 1.0), budget=30, **given), [who]) == Eta(
        unknown=why
    )


def test_too_few_evaluations_are_said() -> None:
    fresh = objective("drag", 1.0, 1.0).model_copy(
        update={"duration_quartiles_s": None}
    )
    assert (
        eta(study(fresh, budget=30), [worker("w", "*")]).unknown
        == "drag has had too few evaluations"
    )


def test_a_finished_study_is_finished_now() -> None:
    assert eta(study(objective("drag", 1.0, 1.0), phase="finished"), []) == Eta(
        0.0, 0.0
    )
