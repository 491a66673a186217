"""Cancel one job by hand: a run that hangs, or that is no longer worth its time."""

from app.domain.jobs import Job
from app.domain.studies import co_objectives_of
from app.domain.work import job_rules
from app.domain.work.changes import ChangeSet, Event
from app.errors import JobNotCancellable, JobUnknown
from app.service.planning.schedule import schedule_due_steps
from app.service.work.other_jobs import add_changes_of_other_jobs
from app.store.database import Connection, Database
from app.store.studies.jobs import find_job
from app.store.studies.studies import find_study_by_id, objectives_of
from app.store.wakeups import notify
from app.store.work.apply_changes import apply
from app.store.work.attempt_counts import count_attempts
from app.store.work.row_locks import lock_jobs, lock_study
from counterpoise.wire.codes import EventKind, JobState


def cancel_job(database: Database, job: int, *, fail: bool) -> JobState:
    """End the run of a leased job; its worker is told with its next heartbeat.

    It counts as a loss, so that the job is tried again; with `fail`, also for a job that
    no worker has, it has failed for good. Returns the job's state.
    """
    return database.write(_cancel, job, fail)


def _cancel(connection: Connection, job_id: int, fail: bool) -> JobState:
    found = find_job(connection, job_id)
    study = lock_study(connection, found.study) if found is not None else None
    job = lock_jobs(connection, [job_id]).get(job_id)
    if study is None or job is None:
        raise JobUnknown(
            f"there is no job {job_id}; GET /studies/NAME/jobs lists those of a study"
        )
    _check(job, fail)
    objectives = objectives_of(connection, study.id)
    co_objectives = co_objectives_of(objectives)
    changes = ChangeSet()
    state = job_rules.cancel(
        changes, job, co_objectives[job.objective], study.limits, fail=fail
    )
    body = {"job": job.id, "state": state}
    changes.events.append(Event(EventKind.CANCELLED, body))
    add_changes_of_other_jobs(connection, changes, co_objectives)
    apply(connection, study, changes, co_objectives)
    schedule_due_steps(connection, find_study_by_id(connection, study.id))
    notify(connection)
    count_attempts(connection, dict.fromkeys(changes.ended_leases))
    return state


def _check(job: Job, fail: bool) -> None:
    if job.state.is_settled:
        raise JobNotCancellable(
            f"job {job.id} is {job.state}; only a job that is not settled can be cancelled"
        )
    if job.state is not JobState.LEASED and not fail:
        raise JobNotCancellable(
            f"job {job.id} is {job.state}: no worker runs it; cancel it with `fail` so that none will"
        )
