"""Jobs that an engineer cancels, and processes of workers that have ended."""

import pytest

from app.errors import JobNotCancellable, JobUnknown
from app.service.studies.explain_job import explain_job
from app.service.work.cancel import cancel_job
from app.service.work.goodbye import goodbye
from app.service.work.heartbeat import heartbeat
from app.service.work.workers import list_workers
from app.store.database import Database
from app.store.tables import jobs, workers
from counterpoise.wire.codes import CancelReason, JobState
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database)
    lab.plan()
    return lab


def test_a_cancelled_run_is_lost_and_its_worker_is_told(lab: Lab) -> None:
    (held,) = lab.ask("crash")
    assert cancel_job(lab.database, held.job, fail=False) is JobState.READY
    assert lab.job(held.job)["losses"] == 1
    (alive,) = heartbeat(lab.database, [held.lease])
    assert (alive.cancel, alive.reason) == (True, CancelReason.CANCELLED)
    lab.check_counters()


def test_a_cancelled_run_may_still_tell(lab: Lab) -> None:
    (held,) = lab.ask("crash")
    cancel_job(lab.database, held.job, fail=False)
    assert lab.tell(held).state == JobState.DONE
    lab.check_counters()


def test_a_job_is_failed_by_hand(lab: Lab) -> None:
    (held,) = lab.ask("crash")
    assert cancel_job(lab.database, held.job, fail=True) is JobState.FAILED
    assert lab.values() == [(None, "error")]
    (why,) = explain_job(lab.database, held.job).why
    assert "cancelled by hand" in why
    lab.check_counters()


def test_what_does_not_run_is_not_cancelled(lab: Lab) -> None:
    ready = next(row["id"] for row in lab.rows(jobs))
    with pytest.raises(JobNotCancellable):
        cancel_job(lab.database, ready, fail=False)
    assert cancel_job(lab.database, ready, fail=True) is JobState.FAILED
    with pytest.raises(JobNotCancellable):
        cancel_job(lab.database, ready, fail=True)
    with pytest.raises(JobUnknown):
        cancel_job(lab.database, 999, fail=True)


def test_goodbye_releases_only_the_leases_of_that_process(lab: Lab) -> None:
    (old,) = lab.ask("crash", instance="first")
    (new,) = lab.ask("crash", instance="second")
    assert goodbye(lab.database, "w", "first") == [old.lease]
    assert lab.job(old.job)["state"] == JobState.READY
    assert lab.job(new.job)["state"] == JobState.LEASED
    (worker,) = lab.rows(workers)
    assert worker["left_at"] is None  # its second process goes on
    assert goodbye(lab.database, "w", "second") == [new.lease]
    ((_, view),) = list_workers(lab.database, 0, 10)
    assert not view.alive
    lab.ask("crash", instance="third")
    ((_, view),) = list_workers(lab.database, 0, 10)
    assert view.alive


def test_a_name_that_two_processes_use_is_reported(lab: Lab) -> None:
    lab.ask("crash", instance="first")
    lab.ask("crash", instance="second")
    assert "worker_name_shared" not in lab.health()  # it may have been started again
    lab.ask("crash", instance="first")
    assert "worker_name_shared" in lab.health()


def test_a_process_that_works_on_while_another_has_its_name_is_reported(
    lab: Lab,
) -> None:
    """It need not ask again: a run can take days."""
    (old,) = lab.ask("crash", instance="first")
    heartbeat(lab.database, [old.lease])
    (new,) = lab.ask("crash", instance="second")
    heartbeat(lab.database, [new.lease])
    assert "worker_name_shared" not in lab.health()
    heartbeat(lab.database, [old.lease])
    assert "worker_name_shared" in lab.health()


def test_a_process_that_works_on_after_another_has_ended_is_not_reported(
    lab: Lab,
) -> None:
    (old,) = lab.ask("crash", instance="first")
    lab.ask("crash", instance="second")
    goodbye(lab.database, "w", "second")
    heartbeat(lab.database, [old.lease])
    assert "worker_name_shared" not in lab.health()


def test_a_lease_is_never_longer_than_the_time_limit(database: Database) -> None:
    objectives = [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 4.0, "timeout_s": 5.0},
    ]
    lab = Lab(database, objectives=objectives)
    lab.plan()
    (job,) = lab.ask("crash")
    row = lab.job(job.job)
    assert row["expires_at"] - row["leased_at"] == pytest.approx(5.0, abs=1e-3)
