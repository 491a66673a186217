"""Release: workers give back jobs that they will not evaluate."""

from collections.abc import Mapping, Sequence

from app.domain.studies import Study, co_objectives_of
from app.domain.work import job_rules
from app.domain.work.changes import ChangeSet
from app.service.planning.schedule import schedule_due_steps
from app.store.database import Connection, Database
from app.store.studies.studies import find_study_by_id, objectives_of
from app.store.wakeups import notify
from app.store.work.apply_changes import apply
from app.store.work.attempt_counts import count_attempts
from app.store.work.attempts import lease_owners
from app.store.work.row_locks import lock_jobs, lock_study


def release(database: Database, leases: Sequence[str]) -> list[str]:
    """Returns those that were current."""
    return database.write(_release, leases)


def _release(connection: Connection, leases: Sequence[str]) -> list[str]:
    owners = lease_owners(connection, leases)
    released: list[str] = []
    for study_id in sorted({owner.study for owner in owners.values()}):
        study = lock_study(connection, study_id)
        if study is not None:
            jobs = {
                lease: owner.job
                for lease, owner in owners.items()
                if owner.study == study_id
            }
            released += _release_in_study(connection, study, jobs)
    count_attempts(connection, dict.fromkeys(released))
    return released


def _release_in_study(
    connection: Connection, study: Study, jobs_by_lease: Mapping[str, int]
) -> list[str]:
    jobs = lock_jobs(connection, jobs_by_lease.values())
    changes = ChangeSet()
    for lease, job in jobs_by_lease.items():
        if jobs[job].is_held_by(lease):
            job_rules.release(changes, jobs[job], study.limits)
    apply(
        connection,
        study,
        changes,
        co_objectives_of(objectives_of(connection, study.id)),
    )
    if changes.jobs:
        notify(connection)
    if changes.may_make_steps_due:
        schedule_due_steps(connection, find_study_by_id(connection, study.id))
    return changes.ended_leases
