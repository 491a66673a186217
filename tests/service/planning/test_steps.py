"""Promises 4 and 6: a step happens once; the same order of tells gives the same
proposals.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Table

from app.optimizer.search.design import initial_design
from app.planner.planner import plan_one
from app.service.planning import compute_step as planning
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.planning.schedule import current_ratios
from app.service.studies.evaluate_point import evaluate_point
from app.service.studies.front import front
from app.service.work.tell import tell
from app.store.database import Database
from app.store.studies.steps import claim_step
from app.store.studies.studies import find_study_by_id, objectives_of
from app.store.tables import jobs, sample_values, samples, steps, studies
from app.store.upgrade import upgrade
from counterpoise.wire.points import EvaluatePoint
from counterpoise.wire.work import Job, Tell
from tests.service.lab import Lab


def test_a_study_runs_to_its_end(database: Database) -> None:
    lab = Lab(database)
    view = lab.run()
    assert (view.phase, view.evaluated_full, view.planned_full) == ("finished", 10, 10)
    kinds = [(row["kind"], row["number"]) for row in lab.rows(steps)]
    assert [kind for kind in kinds if kind[0] == "search"] == [
        ("search", 1),
        ("search", 2),
    ]
    assert kinds[0] == ("initial", 0)
    assert kinds[-1] == ("closing", 10)
    # Ratio 4: the stream's evaluations are 4 n, the design's own n included.
    stream = sum(len(row["x"]) > 0 for row in lab.rows(samples) if not row["full"])
    assert stream >= 3 * 4
    assert view.hypervolume is not None
    assert view.hypervolume.value > 0
    assert view.health == []
    lab.check_counters()


def test_no_point_is_proposed_twice_for_an_objective(database: Database) -> None:
    lab = Lab(database, budget=14)
    lab.run()
    point = {row["id"]: tuple(row["x"]) for row in lab.rows(samples)}
    wanted = [(row["objective_id"], point[row["sample_id"]]) for row in lab.rows(jobs)]
    assert len(wanted) == len(set(wanted))


def test_the_step_of_a_planner_that_was_killed_is_done_by_another_once(
    database: Database,
) -> None:
    lab = Lab(database)
    # Killed: its claim runs out
    lost = database.write(lambda connection: claim_step(connection, for_s=-1.0))
    assert lost is not None
    late = compute_step(database, lost)
    assert plan_one(database)
    assert not commit_step(database, lost, late)
    assert len(lab.rows(samples)) == 4
    assert lab.plan() == 0


def test_a_claimed_step_is_not_claimed_again(database: Database) -> None:
    Lab(database)
    assert database.write(lambda connection: claim_step(connection, 60.0)) is not None
    assert database.write(lambda connection: claim_step(connection, 60.0)) is None


def test_a_fault_in_one_study_is_recorded_and_the_others_go_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = Lab(database, name="bad"), Lab(database, name="good")
    calls: list[int] = []

    def fails_once(*args: Any) -> Any:
        calls.append(1)
        return initial_design(*args) if len(calls) > 1 else 1 / 0

    monkeypatch.setattr(planning, "initial_design", fails_once)
    assert good.plan() == 2  # the fault, then the other study
    assert len(good.ask(most=50)) == 8
    assert bad.ask() == []
    (item,) = bad.view().health
    assert (item.code, item.step) == ("step_failed", "initial")
    assert "ZeroDivisionError" in item.detail
    database.write(
        lambda connection: connection.execute(steps.update().values(retry_at=None))
    )
    assert bad.plan() == 1
    assert len(bad.ask(most=50)) == 8


def proposals(lab: Lab) -> list[tuple[str, int, list[float]]]:
    kinds = {row["id"]: f"{row['kind']} {row['number']}" for row in lab.rows(steps)}
    return [(kinds[row["step_id"]], row["full"], row["x"]) for row in lab.rows(samples)]


def shuffled(seed: int) -> Any:
    rng = np.random.default_rng(seed)

    def order(got: Sequence[Job]) -> Sequence[Job]:
        return [got[index] for index in rng.permutation(len(got))]

    return order


def replay(told: Sequence[dict[str, Any]], file: Path, **spec: Any) -> Lab:
    """A new study in a new database, to which the same results are told in the same
    order, planned with delay.
    """
    database = Database(f"sqlite:///{file}")
    upgrade(database)
    lab = Lab(database, **spec)
    held: dict[tuple[int, int], Job] = {}
    rows = {row["name"]: row["id"] for row in lab.rows(studies)}
    assert rows
    lab.plan()
    for one in told:
        key = (one["sample_id"], one["objective_id"])
        while key not in held:
            lab.plan()
            for job in lab.ask(most=50):
                held[(job.sample, lab.job(job.job)["objective_id"])] = job
        tell(
            database,
            [Tell(job=held[key].job, lease=held[key].lease, value=one["value"])],
        )
    lab.plan()
    return lab


def test_the_same_order_of_tells_gives_the_same_proposals(
    database: Database, tmp_path: Path
) -> None:
    lab = Lab(database)
    lab.run(shuffled(1))
    again = replay(lab.rows(sample_values), tmp_path / "again.db")
    assert proposals(again) == proposals(lab)
    again.database.close()


def columns(lab: Lab, table: Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(map(row.get, names)) for row in lab.rows(table)]


def test_tells_that_arrive_together_make_the_same_steps_due_as_one_by_one(
    database: Database, tmp_path: Path
) -> None:
    """What a step reads does not depend on how tells are batched."""
    spec: dict[str, Any] = {"initial_samples": 20, "budget": 26}
    lab = Lab(database, **spec)
    for _ in range(1000):
        planned, got = lab.plan(), lab.ask(most=16)
        tell(
            database, [lab.tell_of(job) for job in shuffled(len(got))(got)]
        ) if got else None
        if not got and not planned:
            break
    again = replay(lab.rows(sample_values), tmp_path / "again.db", **spec)
    both = (lab, again)
    due = [columns(each, steps, "kind", "number", "due_seq") for each in both]
    values = [columns(each, sample_values, "sample_id", "value") for each in both]
    assert values[0] == values[1]
    assert [kind[:2] for kind in due[0]] == [kind[:2] for kind in due[1]]
    assert proposals(again) == proposals(lab)
    again.database.close()


def test_a_step_reads_the_prefix_at_which_it_became_due_however_late_it_is_planned(
    database: Database,
) -> None:
    """Two planners, one quick and one slow: more stream values arrive before the slow
    one plans.
    """
    lab = Lab(database)
    lab.plan()
    design = lab.ask(most=100)
    for job in design:
        lab.tell(job)
    assert {row["kind"] for row in lab.rows(steps) if row["state"] == "due"} == {
        "search"
    }
    step = database.write(lambda connection: claim_step(connection, for_s=-1.0))
    assert step is not None
    early = compute_step(database, step)
    (first, *_) = design
    database.write(
        lambda c: c.execute(
            sample_values.insert().values(
                study_id=step.study,
                seq=step.due_seq + 1000,
                sample_id=first.sample,
                objective_id=lab.job(first.job)["objective_id"],
                failure="error",
                at=1.0,
            )
        )
    )
    late = compute_step(database, step)
    np.testing.assert_array_equal(early.full, late.full)
    assert early.record["models"] == late.record["models"]


def test_stream_generations_follow_when_half_of_the_last_is_settled(
    database: Database,
) -> None:
    lab = Lab(database, initial_samples=20, budget=30)
    lab.plan()
    mass = lab.ask("mass", most=100)
    assert len(mass) == 20
    for job in mass[:9]:
        lab.tell(job)
    assert lab.plan() == 0
    lab.tell(mass[9])
    assert lab.plan() == 1
    stream = [row for row in lab.rows(steps) if row["kind"] == "stream"]
    assert [(row["objective"], row["number"]) for row in stream] == [(0, 1)]
    assert stream[0]["inputs"]["size"] == 50
    assert len(lab.ask("mass", most=100)) == 50


def test_search_begins_when_the_design_is_settled_and_supersedes_the_streams(
    database: Database,
) -> None:
    lab = Lab(database, initial_samples=20, budget=30)
    lab.plan()
    for job in lab.ask("mass", most=100):
        lab.tell(job)
    lab.plan()
    running = lab.ask("mass", most=3)
    for job in lab.ask("crash", most=100):
        lab.tell(job)
    assert lab.view().phase == "search"
    lab.plan()
    states = {
        row["state"] for row in lab.rows(jobs) if row["cheap_only"] and row["step"] == 0
    }
    assert states == {"leased", "superseded"}
    for job in running:
        assert lab.tell(job).state == "done"
    lab.check_counters()


def test_measured_ratios_count_once_every_objective_has_three(
    database: Database,
) -> None:
    lab = Lab(database, objectives=[{"name": "mass"}, {"name": "crash"}], max_ratio=6)
    lab.plan()

    def ratios() -> list[float]:
        with database.read() as connection:
            study = find_study_by_id(connection, 1)
            return current_ratios(connection, study, objectives_of(connection, 1))

    for job in lab.ask("mass", most=3):
        lab.tell(job, duration_s=0.5)
    for job in lab.ask("crash", most=2):
        lab.tell(job, duration_s=2.2)
    assert ratios() == [1.0, 1.0]
    assert lab.view().ratio_source == "assumed"
    lab.tell(lab.ask("crash")[0], duration_s=1e6)  # an outlier moves no median
    assert ratios() == [4.0, 1.0]
    assert lab.view().ratio_source == "measured"
    for job in lab.ask("crash", most=1):
        lab.tell(job, duration_s=1e6)
    assert ratios() == [6.0, 1.0]  # capped
    assert lab.view().objectives[0].median_duration_s == 0.5


def test_only_the_last_hundred_durations_count(database: Database) -> None:
    lab = Lab(
        database,
        objectives=[{"name": "mass"}, {"name": "crash"}],
        initial_samples=160,
        budget=200,
    )
    lab.plan()
    for took, count in (
        (1.0, 60),
        (8.0, 51),
        (2.0, 49),
    ):  # of all 160 the median is 2
        for job in lab.ask("mass", most=count):
            lab.tell(job, duration_s=took)
    for job in lab.ask("crash", most=3):
        lab.tell(job, duration_s=80.0)
    with database.read() as connection:
        study = find_study_by_id(connection, 1)
        assert current_ratios(connection, study, objectives_of(connection, 1)) == [
            10.0,
            1.0,
        ]
    assert lab.view().objectives[0].median_duration_s == 8.0


@pytest.mark.parametrize(
    "changes",
    [{}, {"ratios": {"mass": 4}, "objectives": [{"name": "mass"}, {"name": "crash"}]}],
)
def test_declared_ratios_are_reported_as_declared(
    database: Database, changes: dict[str, Any]
) -> None:
    lab = Lab(database, **changes)
    assert lab.view().ratio_source == "declared"
    lab.run_until(1)
    (search,) = [row for row in lab.rows(steps) if row["kind"] == "search"]
    assert search["record"]["ratios"] == search["inputs"]["ratios"] == [4.0, 1.0]


def test_the_front_is_in_the_users_units_and_directions(database: Database) -> None:
    lab = Lab(
        database,
        variables=[
            {"name": "a", "low": 1, "high": 9, "type": "int"},
            {"name": "b", "low": 1e-3, "high": 1.0, "scale": "log"},
        ],
        objectives=[{"name": "mass"}, {"name": "lift", "direction": "maximize"}],
        budget=6,
    )
    lab.run()
    items = front(database, "wing")
    assert items
    for item in items:
        assert isinstance(item.x["a"], int)
        assert 1e-3 <= item.x["b"] <= 1.0
        assert item.values["lift"] == item.x["b"]
        others = [other for other in items if other is not item]
        assert not any(
            o.values["mass"] <= item.values["mass"]
            and o.values["lift"] >= item.values["lift"]
            and o.values != item.values
            for o in others
        )


SIX_POINTS = [
    {"name": "a", "low": 0, "high": 1, "type": "int"},
    {"name": "b", "low": 0, "high": 2, "type": "int"},
]


def test_a_used_up_space_does_not_wait_for_samples_outside_the_budget(
    database: Database,
) -> None:
    lab = Lab(
        database,
        variables=SIX_POINTS,
        budget=50,
        initial_samples=3,
        models="paper",
    )
    request = EvaluatePoint(x={"a": 1, "b": 1}, outside_budget=True)
    own = evaluate_point(database, lab.name, request)
    (held,) = lab.ask("crash")
    assert held.sample == own.sample
    view = lab.run()
    assert (view.ending, view.evaluated_full) == ("space_exhausted", 5)
    lab.tell(held)
    lab.check_counters()


def test_a_used_up_space_ends_the_study_with_its_ending(database: Database) -> None:
    lab = Lab(
        database,
        variables=SIX_POINTS,
        budget=50,
        initial_samples=3,
    )
    view = lab.run()
    assert view.phase == "finished"
    assert view.evaluated_full == 6
    assert (view.ending, view.health[0].code) == ("space_exhausted", "finished_early")
    lab.check_counters()


@pytest.mark.parametrize(
    "objectives", [[{"name": "mass"}], [{"name": "mass"}, {"name": "crash"}]]
)
def test_one_objective_or_equally_slow_ones_have_no_cheap_samples(
    database: Database, objectives: list[dict[str, str]]
) -> None:
    lab = Lab(
        database,
        objectives=[{**o, "evaluation_time_s": 2.0} for o in objectives],
        budget=8,
    )
    view = lab.run()
    assert (view.phase, view.evaluated_full) == ("finished", 8)
    assert all(row["full"] for row in lab.rows(samples))


def test_failures_do_not_stop_a_study(database: Database) -> None:
    lab = Lab(database, max_attempts=1, budget=13)
    count = 0
    for _ in range(1000):
        planned, got = lab.plan(), lab.ask(most=4)
        for job in got:
            count += 1
            lab.fail(
                job, ("infeasible", "error")[count % 2]
            ) if count % 3 == 0 else lab.tell(job)
        if not got and not planned:
            break
    view = lab.view()
    assert (view.phase, view.evaluated_full) == ("finished", 13)
    lab.check_counters()


@pytest.mark.parametrize(
    "changes", [{"ratios": {"mass": 1.9}}, {"ratios": {"mass": 9}, "max_ratio": 1.9}]
)
def test_a_part_of_an_evaluation_makes_no_objective_cheap(
    database: Database, changes: dict[str, Any]
) -> None:
    lab = Lab(database, objectives=[{"name": "mass"}, {"name": "crash"}], **changes)
    for _ in range(2):
        lab.plan()
        for job in lab.ask(most=100):
            lab.tell(job)
    assert [(each.cheap, each.ratio) for each in lab.view().objectives] == [
        (False, 1.0),
        (False, 1.0),
    ]
    assert lab.view().phase == "search"


@pytest.mark.parametrize("huge", [1e100, -1e100])
def test_the_largest_values_do_not_stop_a_study(
    database: Database, huge: float
) -> None:
    lab = Lab(database, budget=8)
    for number in range(1000):
        planned, got = lab.plan(), lab.ask(most=4)
        for job in got:
            lab.tell(
                job,
                huge if number == 1 else None,
                duration_s=1e10 if number % 2 else 0.0,
            )
        if not got and not planned:
            break
    assert lab.view().phase == "finished"
    assert not any(row["faults"] for row in lab.rows(steps))
