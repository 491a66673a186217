"""Studies and jobs, locked to be changed.

Lock order: studies by id, then jobs by study and id. Leasing locks no study.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Select, bindparam, select

from app.domain.jobs import Attempt, Job
from app.domain.studies import Study
from app.store.records import attempt_from_row, job_from_row
from app.store.sql.in_array import in_array
from app.store.studies.studies import STUDY_COLUMNS, study_records
from app.store.tables import (
    BY_NUMBER,
    READY,
    UNSETTLED,
    WAITING,
    jobs,
    objectives,
    samples,
    studies,
)
from app.store.work.attempts import attempts_with_leases
from counterpoise.wire.codes import JobState

# A job, and what a change of it does to its sample.
JOB_COLUMNS = (
    *jobs.c,
    samples.c.open.label("sample_open"),
    samples.c.waiting.label("sample_waiting"),
    samples.c.infeasible.label("sample_infeasible"),
    (
        samples.c.full
        & ~samples.c.given_up
        & (samples.c.imported_seq.is_(None) | samples.c.in_budget)
    ).label("sample_planned"),
)
SELECT_JOBS: Select[tuple[object, ...]] = select(*JOB_COLUMNS).join(
    samples, samples.c.id == jobs.c.sample_id
)


def lock_study(connection: Connection, study: int) -> Study | None:
    """None if it was deleted."""
    rows = connection.execute(_LOCK_STUDY, {"study": study}).all()
    return next(iter(study_records(connection, rows)), None)


_LOCK_STUDY = (
    select(*STUDY_COLUMNS).where(studies.c.id == bindparam("study")).with_for_update()
)


def lock_studies_of_leases(
    connection: Connection, leases: Sequence[str]
) -> list[Study]:
    """The studies to whose jobs these leases were issued, locked in the order of their
    ids.
    """
    return study_records(
        connection, connection.execute(LOCK_STUDIES_OF_LEASES, {"leases": leases}).all()
    )


_told = attempts_with_leases("told")
LOCK_STUDIES_OF_LEASES = (
    select(*STUDY_COLUMNS)
    .where(
        studies.c.id.in_(
            select(jobs.c.study_id).join(_told, _told.c.job_id == jobs.c.id)
        )
    )
    .order_by(studies.c.id)
    .with_for_update(of=studies)
)


def lock_jobs_of_leases(
    connection: Connection, leases: Sequence[str]
) -> dict[str, tuple[Job, Attempt]]:
    """The job of each of these leases, locked, and the attempt; to be read under the
    lock of the studies.
    """
    rows = connection.execute(LOCK_JOBS_OF_LEASES, {"leases": leases})
    return {
        row.attempt_lease: (job_from_row(row), attempt_from_row(row)) for row in rows
    }


# That of the attempt is read
_own_columns = [column for column in JOB_COLUMNS if column.name != "leased_at"]
LOCK_JOBS_OF_LEASES = (
    select(*_own_columns, *(column for column in _told.c if column.name != "id"))
    .join(_told, _told.c.job_id == jobs.c.id)
    .join(samples, samples.c.id == jobs.c.sample_id)
    .order_by(jobs.c.study_id, jobs.c.id)
    .with_for_update(of=jobs)
)


def lock_jobs(connection: Connection, ids: Iterable[int]) -> dict[int, Job]:
    return {
        row.id: job_from_row(row)
        for row in connection.execute(_LOCK_JOBS, {"ids": ids})
    }


_LOCK_JOBS = (
    SELECT_JOBS.where(in_array(jobs.c.id, "ids"))
    .order_by(jobs.c.study_id, jobs.c.id)
    .with_for_update(of=jobs)
)


def lock_unsettled_jobs(connection: Connection, study: int) -> None:
    """Lock all unsettled jobs of a study, so that none is leased meanwhile."""
    query = select(jobs.c.id).where(jobs.c.study_id == study, UNSETTLED)
    connection.execute(query.order_by(jobs.c.id).with_for_update())


def lock_free_jobs(
    connection: Connection, study: int, *, only_cheap: bool
) -> list[Job]:
    """The study's jobs that no worker has: ready ones, also those that back off, and
    waiting ones.
    """
    found = []
    for query in _READY_CHEAP_JOBS if only_cheap else (*READY_JOBS, WAITING_JOBS):
        found += [
            job_from_row(row) for row in connection.execute(query, {"study": study})
        ]
    return found


# One index each. Jobs that back off come first: once locked, they cannot leave the one
# query and enter the other. Joined with objectives, because SQLite would read all jobs
# to find those of some objectives.
_JOBS_OF_STUDY = (
    SELECT_JOBS.join(objectives, objectives.c.id == jobs.c.objective_id)
    .where(objectives.c.study_id == bindparam("study"))
    .order_by(BY_NUMBER)
    .with_for_update(of=jobs)
)
READY_JOBS = [
    _JOBS_OF_STUDY.where(jobs.c.state == READY, is_backing_off)
    for is_backing_off in (jobs.c.ready_at.is_not(None), jobs.c.ready_at.is_(None))
]
WAITING_JOBS = _JOBS_OF_STUDY.where(jobs.c.state == WAITING)
_READY_CHEAP_JOBS = [query.where(jobs.c.cheap_only) for query in READY_JOBS]


def lock_free_jobs_of_samples(
    connection: Connection, samples: Iterable[int]
) -> list[Job]:
    """The jobs of these samples that no worker has, read under the lock of their study.

    Leased ones are not locked: a heartbeat may hold some of them and wait for a job
    that this transaction has locked.
    """
    rows = connection.execute(_LOCK_FREE_JOBS_OF_SAMPLES, {"samples": samples})
    return [job_from_row(row) for row in rows]


_LOCK_FREE_JOBS_OF_SAMPLES = (
    SELECT_JOBS.where(
        in_array(jobs.c.sample_id, "samples"),
        jobs.c.state.in_((JobState.WAITING, JobState.READY)),
    )
    .order_by(jobs.c.study_id, jobs.c.id)
    .with_for_update(of=jobs)
)


def lock_jobs_of_samples(connection: Connection, samples: Iterable[int]) -> list[Job]:
    """All jobs of these samples."""
    rows = connection.execute(_LOCK_JOBS_OF_SAMPLES, {"samples": samples})
    return [job_from_row(row) for row in rows]


_LOCK_JOBS_OF_SAMPLES = (
    SELECT_JOBS.where(in_array(jobs.c.sample_id, "samples"))
    .order_by(jobs.c.study_id, jobs.c.id)
    .with_for_update(of=jobs)
)


def lock_settled_jobs(
    connection: Connection,
    study: int,
    objectives: Sequence[int],
    state: JobState,
) -> list[Job]:
    """The study's jobs of these objectives that ended in this state.

    Reads all its jobs: for engineers, not for workers.
    """
    query = SELECT_JOBS.where(
        jobs.c.study_id == study,
        jobs.c.objective_id.in_(objectives),
        jobs.c.state == state,
    )
    rows = connection.execute(query.order_by(jobs.c.id).with_for_update(of=jobs))
    return [job_from_row(row) for row in rows]
