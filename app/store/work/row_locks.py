"""Studies and jobs, locked to be changed.

Lock order: studies by id, then jobs by study and id. Leasing locks no study.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, bindparam, select

from app.domain.changes import UNSETTLED, JobRow
from app.store.sql.in_array import among
from app.store.tables import BY_NUMBER, READY, jobs, objectives, samples, studies
from app.store.work.attempts import with_leases


def lock_study(connection: Connection, study: int) -> Row[Any] | None:
    """The study's row, locked; None if it is gone."""
    return connection.execute(_LOCK_STUDY, {"study": study}).one_or_none()


_LOCK_STUDY = select(studies).where(studies.c.id == bindparam("study")).with_for_update()


def lock_studies_of(connection: Connection, leases: Sequence[str]) -> dict[int, Row[Any]]:
    """What a tell must know of the studies to whose jobs these leases were issued, locked in the order of their ids."""
    return {row.id: row for row in connection.execute(_LOCK_STUDIES_OF, {"leases": leases})}


_told = with_leases("told")
_LOCK_STUDIES_OF = (
    select(
        *(studies.c[name] for name in ("id", "spec", "budget", "phase", "ending", "step", "sequence")),
        *(studies.c[name] for name in ("planned_full", "settled_full")),
    )
    .where(studies.c.id.in_(select(jobs.c.study_id).join(_told, _told.c.job_id == jobs.c.id)))
    .order_by(studies.c.id)
    .with_for_update(of=studies)
)


def lock_jobs_of(connection: Connection, leases: Sequence[str]) -> dict[str, tuple[JobRow, RowMapping]]:
    """The job of each of these leases, locked, and the attempt; to be read under the lock of the studies.

    `open` of the latter: on how many objectives the sample is not settled.
    """
    rows = connection.execute(_LOCK_JOBS_OF, {"leases": leases}).all()
    return {row.token: (job_row(row), row._mapping) for row in rows}


def lock_jobs(connection: Connection, ids: Sequence[int]) -> dict[int, JobRow]:
    return {row.id: job_row(row) for row in connection.execute(_LOCK_JOBS, {"ids": ids})}


_LOCK_JOBS = select(jobs).where(among(jobs.c.id, "ids")).order_by(jobs.c.study_id, jobs.c.id).with_for_update()


_LOCK_JOBS_OF = (
    select(
        *(jobs.c[name] for name in ("id", "study_id", "objective_id", "sample_id", "cheap_only", "step", "state")),
        *(jobs.c[name] for name in ("lease", "attempts", "errors", "losses")),
        _told.c.lease.label("token"),
        *(_told.c[name] for name in ("worker_id", "leased_at", "ended_at", "outcome", "value", "failure")),
        *(_told.c[name] for name in ("details", "age_s")),
        samples.c.open,
    )
    .join(_told, _told.c.job_id == jobs.c.id)
    .join(samples, samples.c.id == jobs.c.sample_id)
    .order_by(jobs.c.study_id, jobs.c.id)
    .with_for_update(of=jobs)
)


def lock_open_jobs(connection: Connection, study: int) -> None:
    """Lock all jobs of a study that are ready or leased, in the order of all."""
    query = select(jobs.c.id).where(jobs.c.study_id == study, jobs.c.state.in_(UNSETTLED))
    connection.execute(query.order_by(jobs.c.id).with_for_update())


def job_row(row: Any) -> JobRow:
    return JobRow(
        id=row.id,
        objective=row.objective_id,
        sample=row.sample_id,
        cheap_only=row.cheap_only,
        step=row.step,
        state=row.state,
        lease=row.lease,
        attempts=row.attempts,
        errors=row.errors,
        losses=row.losses,
    )


def ready_jobs(connection: Connection, study: int, *, only_cheap: bool) -> list[JobRow]:
    """The study's ready jobs, locked: those at the queues' heads and those that back off."""
    queries = _READY_CHEAP if only_cheap else _READY_JOBS
    return [job_row(row) for query in queries for row in connection.execute(query, {"study": study})]


# One index each. Back-offs first: once locked they cannot ripen and slip from one look into the other. Joined, as to
# find those of some objectives SQLite would read all jobs.
_READY_JOBS = [
    select(jobs)
    .join(objectives, objectives.c.id == jobs.c.objective_id)
    .where(objectives.c.study_id == bindparam("study"), jobs.c.state == READY, waiting)
    .order_by(BY_NUMBER)
    .with_for_update(of=jobs)
    for waiting in (jobs.c.ready_at.is_not(None), jobs.c.ready_at.is_(None))
]
_READY_CHEAP = [query.where(jobs.c.cheap_only) for query in _READY_JOBS]


def failed_jobs(connection: Connection, study: int, queues: Sequence[int]) -> list[JobRow]:
    """The study's failed jobs of these objectives, locked. Reads all its jobs: for people, not for workers."""
    query = select(jobs).where(jobs.c.study_id == study, jobs.c.objective_id.in_(queues), jobs.c.state == "failed")
    return [job_row(row) for row in connection.execute(query.order_by(jobs.c.id).with_for_update())]
