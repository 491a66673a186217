"""Races between planners, and between a planner and everything else."""

import pytest

from app.planner.planner import plan_one
from app.service.planning.replay import replay
from app.service.studies.lifecycle import extend, pause, resume, stop
from app.service.work.ask import serve_asks
from app.store.database import Database
from app.store.tables import jobs, samples, steps, studies
from tests.reliability.faults.fault_processes import FaultPoints
from tests.reliability.faults.lab_states import (
    asks,
    end_claims,
    jobs_in,
    lab_with_due_search,
    lab_with_due_second_search,
)
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    return lab_with_due_search(database)


def search_step(lab: Lab) -> dict[str, object]:
    (step,) = [row for row in lab.rows(steps) if row["kind"] == "search"]
    return step


def planned_full(lab: Lab) -> int:
    (study,) = lab.rows(studies)
    return int(study["planned_full"])


def check_one_step(lab: Lab) -> None:
    """The first search step happened once, with its two full samples, and can be
    replayed.
    """
    step = search_step(lab)
    assert step["state"] == "done"
    proposed = [row for row in lab.rows(samples) if row["step_id"] == step["id"]]
    assert sum(row["full"] for row in proposed) == 2
    (study,) = lab.rows(studies)
    assert (study["step"], study["planned_full"]) == (1, 6)
    lab.check_counters()
    assert all(replayed.equal for replayed in replay(lab.database, "wing", None))


@pytest.mark.parametrize("point", ["claim.written", "step.claimed"])
def test_one_of_two_planners_gets_the_step(
    lab: Lab, faults: FaultPoints, point: str
) -> None:
    with faults.held(point, plan_one, lab.database) as planner:
        results = planner.run_beside(lambda: plan_one(lab.database))
    assert (results.held, results.other) == (True, False)
    check_one_step(lab)


def test_planner_that_lost_its_claim_commits_nothing(
    lab: Lab, faults: FaultPoints
) -> None:
    with faults.held("step.computed", plan_one, lab.database) as planner:
        end_claims(lab.database)
        assert plan_one(lab.database)
        planner.resume()
        planner.result()
    check_one_step(lab)


def test_planner_that_lost_its_claim_leaves_the_step_to_its_new_owner(
    lab: Lab, faults: FaultPoints
) -> None:
    """The step is still due; only the claim shows which planner owns it."""
    with faults.held("step.computed", plan_one, lab.database) as first:
        end_claims(lab.database)
        with faults.held("step.claimed", plan_one, lab.database) as second:
            first.resume()
            first.result()
            step = search_step(lab)
            assert step["state"] == "due"
            assert step["claim"] is not None
            assert planned_full(lab) == 4
            second.resume()
            assert second.result()
    check_one_step(lab)


def test_step_that_is_being_written_is_not_claimed_again(
    lab: Lab, faults: FaultPoints
) -> None:
    with faults.held("step.computed", plan_one, lab.database) as planner:
        end_claims(lab.database)
        planner.advance_to("step.written")
        planner.run_beside(lambda: plan_one(lab.database))
    check_one_step(lab)


def test_step_computed_before_a_stop_does_not_happen(
    lab: Lab, faults: FaultPoints
) -> None:
    with faults.held("step.computed", plan_one, lab.database) as planner:
        stop(lab.database, "wing", cancel_running=False)
        planner.resume()
        planner.result()
    assert [row["kind"] for row in lab.rows(steps)] == ["initial", "stream"]
    assert planned_full(lab) == 4
    lab.check_counters()
    extend(lab.database, "wing", 11)
    lab.plan()
    check_one_step(lab)


def test_step_computed_before_a_pause_happens_after_it(
    lab: Lab, faults: FaultPoints
) -> None:
    with faults.held("step.computed", plan_one, lab.database) as planner:
        pause(lab.database, "wing")
        planner.resume()
        planner.result()
    assert planned_full(lab) == 4
    assert not plan_one(lab.database)
    resume(lab.database, "wing")
    assert lab.plan() == 1
    check_one_step(lab)


def test_stop_that_waits_for_a_step_supersedes_its_jobs(
    lab: Lab, faults: FaultPoints
) -> None:
    with faults.held("step.written", plan_one, lab.database) as planner:
        planner.run_beside(lambda: stop(lab.database, "wing", cancel_running=False))
    assert {row["state"] for row in lab.rows(jobs)} == {"done", "superseded"}
    assert planned_full(lab) == 4  # the two new samples are given up
    lab.check_counters()
    extend(lab.database, "wing", 11)
    assert lab.run().evaluated_full == 11


@pytest.mark.parametrize("point", ["step.claimed", "step.computed", "step.written"])
def test_tell_beside_a_step_does_not_change_it(
    database: Database, faults: FaultPoints, point: str
) -> None:
    """A step reads what was known when it became due, however late it is computed."""
    lab, job = lab_with_due_second_search(database)
    with faults.held(point, plan_one, database) as planner:
        results = planner.run_beside(lambda: lab.tell(job, -100.0))
    assert results.held
    assert results.other.status == 200
    assert lab.values()[-1] == (-100.0, None)
    lab.check_counters()
    assert planned_full(lab) == 8
    assert all(replayed.equal for replayed in replay(database, "wing", None))


def test_step_beside_an_ask_keeps_the_new_leases(lab: Lab, faults: FaultPoints) -> None:
    with faults.held(
        "ask.written", serve_asks, lab.database, asks(2, "mass"), 20.0
    ) as other:
        results = other.run_beside(lambda: plan_one(lab.database))
    assert results.other
    (leased,) = results.held
    assert len(leased) == 2
    assert jobs_in(lab, "leased") == sorted(job.job for job in leased)
    check_one_step(lab)


def test_ask_beside_a_step_skips_superseded_jobs(lab: Lab, faults: FaultPoints) -> None:
    with faults.held("step.written", plan_one, lab.database) as planner:
        results = planner.run_beside(lambda: lab.ask("mass", most=100))
    assert results.held
    of_stream = [
        row["id"] for row in lab.rows(jobs) if row["cheap_only"] and row["step"] == 0
    ]
    assert len(of_stream) > 0
    leased = [job.job for job in results.other]
    assert set(leased).isdisjoint(of_stream)
    check_one_step(lab)
