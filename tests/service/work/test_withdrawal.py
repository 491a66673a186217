"""Samples that a run has ruled out: no pointless slow run is started."""

from typing import Any

import pytest

from app.service.planning.replay import replay
from app.service.studies.lifecycle import extend, retry, stop
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from app.store.database import Database
from app.store.tables import events, jobs, samples
from counterpoise.wire.codes import CancelReason, JobState
from counterpoise.wire.work import Job
from tests.service.lab import Lab

SMALL: dict[str, Any] = {"budget": 8, "batch_size": 2, "generations": 3}


def job_of(lab: Lab, sample: int, objective: str) -> dict[str, Any]:
    names = [view.name for view in lab.view().outputs]
    (found,) = [
        row
        for row in lab.rows(jobs)
        if row["sample_id"] == sample
        and row["objective_id"] == names.index(objective) + 1
    ]
    return found


def sample(lab: Lab, number: int) -> dict[str, Any]:
    return next(row for row in lab.rows(samples) if row["id"] == number)


def counts(lab: Lab) -> tuple[int, int, int]:
    view = lab.view()
    return view.planned_full, view.evaluated_full, view.withdrawn


def test_an_infeasible_cheap_run_withdraws_the_slow_one(database: Database) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    (cheap,) = lab.ask("mass")
    assert lab.fail(cheap, "infeasible").state == JobState.INFEASIBLE
    assert job_of(lab, cheap.sample, "crash")["state"] == JobState.SUPERSEDED
    assert counts(lab) == (3, 0, 1)
    view = lab.view().objectives[0]
    assert (view.infeasible, view.failed) == (1, 0)
    assert "jobs_failed" not in lab.health()
    (withdrawn,) = [row for row in lab.rows(events) if row["kind"] == "withdrawn"]
    assert withdrawn["body"] == {"sample": cheap.sample, "jobs": 1}
    lab.check_counters()


def test_its_place_goes_to_a_later_step_and_the_study_ends(database: Database) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    (cheap,) = lab.ask("mass")
    lab.fail(cheap, "infeasible")
    view = lab.run()
    assert (view.phase, view.ending) == ("finished", "budget_used")
    assert (view.planned_full, view.withdrawn) == (8, 1)
    assert all(one.equal for one in replay(database, lab.name, None))
    lab.check_counters()


def test_a_study_in_which_all_is_infeasible_ends(database: Database) -> None:
    lab = Lab(database, **SMALL)
    for _ in range(200):
        planned = lab.plan()
        got = lab.ask("mass", most=8)
        for job in got:
            lab.fail(job, "infeasible")
        if not got and not planned:
            break
    view = lab.view()
    assert view.phase == "finished"
    assert view.withdrawn == view.budget == 8
    assert view.objectives[1].done == 0
    lab.check_counters()


def test_a_slow_run_that_is_under_way_is_advised_to_cancel(database: Database) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    (slow,) = lab.ask("crash")
    cheap = next(job for job in lab.ask("mass", most=4) if job.sample == slow.sample)
    lab.fail(cheap, "infeasible")
    (alive,) = heartbeat(database, [slow.lease])
    assert (alive.cancel, alive.reason) == (True, CancelReason.SAMPLE_INFEASIBLE)
    assert counts(lab) == (4, 0, 0)  # its hours may still give a value
    release(database, [slow.lease])
    assert lab.job(slow.job)["state"] == JobState.SUPERSEDED
    assert counts(lab) == (3, 0, 1)
    lab.check_counters()


def test_a_slow_value_told_all_the_same_is_kept(database: Database) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    (slow,) = lab.ask("crash")
    cheap = next(job for job in lab.ask("mass", most=4) if job.sample == slow.sample)
    lab.fail(cheap, "infeasible")
    assert lab.tell(slow).status == 200
    assert counts(lab) == (4, 1, 0)
    lab.check_counters()


def test_infeasible_by_the_slow_run_uses_the_budget(database: Database) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    (slow,) = lab.ask("crash")
    cheap = next(job for job in lab.ask("mass", most=4) if job.sample == slow.sample)
    lab.tell(cheap)
    lab.fail(slow, "infeasible")
    assert counts(lab) == (4, 1, 0)


def test_infeasible_points_are_retried_only_by_name(database: Database) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    (cheap,) = lab.ask("mass")
    lab.fail(cheap, "infeasible")
    assert retry(database, lab.name, None) == 0
    assert retry(database, lab.name, None, infeasible=True) == 2  # with the slow one
    assert not sample(lab, cheap.sample)["infeasible"]
    assert job_of(lab, cheap.sample, "crash")["state"] == JobState.READY
    lab.check_counters()
    lab.run()
    lab.check_counters()


def test_a_late_value_of_an_infeasible_run_makes_the_sample_feasible(
    database: Database,
) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    (first,) = lab.ask("mass")
    lab.expire(first)
    lab.end_backoffs()
    (second,) = lab.ask("mass")
    assert second.job == first.job
    lab.fail(second, "infeasible")
    lab.tell(first)
    assert not sample(lab, first.sample)["infeasible"]
    lab.check_counters()


def test_a_stopped_study_with_a_withdrawn_sample_can_be_extended(
    database: Database,
) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    (cheap,) = lab.ask("mass")
    lab.fail(cheap, "infeasible")
    stop(database, lab.name, cancel_running=False)
    extend(database, lab.name, 12)
    view = lab.run()
    assert view.phase == "finished"
    lab.check_counters()


def cheap_job(lab: Lab, number: int) -> Job:
    return next(job for job in lab.ask("mass", most=50) if job.sample == number)


def test_cheap_first_lets_slow_runs_wait_for_cheap_values(database: Database) -> None:
    lab = Lab(database, **SMALL, cheap_first=True)
    lab.plan()
    assert lab.ask("crash", most=4) == []
    assert [view.waiting for view in lab.view().objectives] == [0, 4]
    first, second, *_ = lab.ask("mass", most=4)
    lab.tell(first)
    assert [job.sample for job in lab.ask("crash", most=4)] == [first.sample]
    lab.fail(second, "infeasible")
    assert lab.ask("crash", most=4) == []
    assert job_of(lab, second.sample, "crash")["state"] == JobState.SUPERSEDED
    lab.check_counters()
    lab.run()
    lab.check_counters()


@pytest.mark.parametrize("kind", ["error", "infrastructure"])
def test_a_study_goes_on_after_the_failed_slow_run_of_a_ruled_out_sample(
    database: Database, kind: str
) -> None:
    lab = Lab(database, **SMALL, cheap_first=False)
    lab.plan()
    *others, last = lab.ask("crash", most=50)
    for job in others:
        lab.tell(job)
    for job in lab.ask("mass", most=50):
        if job.sample == last.sample:
            lab.fail(job, "infeasible")
        else:
            lab.tell(job)
    lab.fail(last, kind)
    assert job_of(lab, last.sample, "crash")["state"] == JobState.SUPERSEDED
    lab.check_counters()
    lab.plan()
    assert lab.view().phase == "search"


def test_a_failed_cheap_run_does_not_keep_the_slow_one_waiting(
    database: Database,
) -> None:
    lab = Lab(database, **SMALL, cheap_first=True, max_attempts=1)
    lab.plan()
    (cheap,) = lab.ask("mass")
    lab.fail(cheap, "error")
    assert [job.sample for job in lab.ask("crash")] == [cheap.sample]
    lab.check_counters()


def test_slow_runs_wait_once_a_cheap_run_has_ruled_a_sample_out(
    database: Database,
) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    lab.fail(lab.ask("mass")[0], "infeasible")
    while got := lab.ask(most=50):
        for job in got:
            lab.tell(job)
    lab.plan()
    assert lab.view().step == 1
    assert lab.ask("crash", most=4) == []
    assert lab.view().objectives[1].waiting == 2


def test_a_stop_supersedes_waiting_jobs(database: Database) -> None:
    lab = Lab(database, **SMALL, cheap_first=True)
    lab.plan()
    stop(database, lab.name, cancel_running=False)
    assert {row["state"] for row in lab.rows(jobs)} == {JobState.SUPERSEDED}
    lab.check_counters()


@pytest.mark.parametrize("way", ["retry", "late value"])
def test_a_sample_that_breaks_a_limit_too_stays_ruled_out(
    database: Database, way: str
) -> None:
    drag = {"name": "drag", "upper": 0.25, "evaluation_time_s": 1.0}
    lab = Lab(database, **SMALL, constraints=[drag])
    lab.plan()
    (lost,) = lab.ask("mass")
    lab.expire(lost)
    lab.end_backoffs()
    (cheap,) = lab.ask("mass")
    assert cheap.job == lost.job
    limited = next(
        job for job in lab.ask("drag", most=10) if job.sample == cheap.sample
    )
    lab.fail(cheap, "infeasible")
    lab.tell(limited, 0.9)
    if way == "retry":
        assert retry(database, lab.name, None, infeasible=True) == 1
    else:
        assert lab.tell(lost).state == JobState.DONE
    assert sample(lab, cheap.sample)["infeasible"]
    assert job_of(lab, cheap.sample, "crash")["state"] == JobState.SUPERSEDED
    lab.check_counters()
