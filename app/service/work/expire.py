"""Expiry: leases without a sign of life return their jobs; back-offs end.

Run by planners.
"""

from collections.abc import Sequence

from app.domain.jobs import Job
from app.domain.planning.stepping_progress import prefix_until_due
from app.domain.studies import Study, co_objectives_of
from app.domain.work import job_rules
from app.domain.work.changes import ChangeSet
from app.fault_points import point
from app.service.planning.schedule import schedule_due_steps
from app.service.work.other_jobs import add_changes_of_other_jobs
from app.store.database import Connection, Database
from app.store.studies.studies import find_study_by_id, objectives_of
from app.store.wakeups import notify
from app.store.work.apply_changes import apply, end_backoffs
from app.store.work.attempt_counts import count_attempts
from app.store.work.lease_deadlines import (
    any_stale_record,
    delete_stale_records,
    overdue_jobs,
    record_kept_leases,
    shorten_impossible_deadlines,
    still_overdue,
)
from app.store.work.row_locks import lock_jobs, lock_study

AT_ONCE = 500


def expire_leases(database: Database) -> int:
    """End the leases that are over; returns how many.

    After an outage none expires for one lease time.
    """
    ended = 0
    faults: dict[int, Exception] = {}  # by study
    while True:
        with database.read() as connection:
            overdue = overdue_jobs(connection, AT_ONCE, without=faults)
        point("expire.found")
        by_study: dict[int, list[int]] = {}
        for job, study in overdue:
            by_study.setdefault(study, []).append(job)
        faults_before = len(faults)
        for study, jobs in sorted(by_study.items()):
            try:
                ended += database.write(expire_jobs, study, jobs)
            except Exception as error:  # noqa: BLE001  a fault in one study must not keep the leases of the others
                faults[study] = error
        if len(faults) == faults_before:
            # otherwise once more without the faulty studies, however many overdue
            # leases they have
            break
    if faults:
        raise next(iter(faults.values()))
    return ended


def clean_up(database: Database) -> None:
    """End back-offs, mend deadlines after a clock was set back, and record leases that
    an outage keeps.
    """
    database.write(_clean_up)
    with database.read() as connection:
        has_stale_records = any_stale_record(connection)
    if has_stale_records:
        database.write(delete_stale_records)


def _clean_up(connection: Connection) -> None:
    shorten_impossible_deadlines(connection)
    record_kept_leases(connection)
    if end_backoffs(connection):
        notify(connection)


def expire_jobs(connection: Connection, study_id: int, ids: Sequence[int]) -> int:
    if lock_study(connection, study_id) is None:
        return 0
    lock_jobs(connection, ids)
    left = sorted(still_overdue(connection, ids))
    ended: list[str] = []
    while left:
        study = find_study_by_id(connection, study_id)
        # Read again: what was settled before has changed the samples of the others.
        jobs = lock_jobs(connection, left)
        expired = _expire_prefix(connection, study, [jobs[job] for job in left])
        ended += expired
        left = left[len(expired) :]
    count_attempts(connection, dict.fromkeys(ended))
    point("expire.written")
    return len(ended)


def _expire_prefix(
    connection: Connection, study: Study, overdue: Sequence[Job]
) -> list[str]:
    """Expire as many as may be settled in one go; returns the leases that ended."""
    objectives = objectives_of(connection, study.id)
    co_objectives = co_objectives_of(objectives)
    timeouts = {
        objective.id: objective.timeout_with_heartbeats_s for objective in objectives
    }
    changes = ChangeSet()
    count, _ = prefix_until_due(study, objectives, overdue)
    for job in overdue[:count]:
        job_rules.expire(
            changes,
            job,
            co_objectives[job.objective],
            study.limits,
            timeouts[job.objective],
        )
    add_changes_of_other_jobs(connection, changes, co_objectives)
    apply(connection, study, changes, co_objectives)
    notify(connection)
    if changes.may_make_steps_due:
        schedule_due_steps(connection, find_study_by_id(connection, study.id))
    return changes.ended_leases
