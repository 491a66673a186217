"""Pages of jobs, and the heads of queues: a page costs the same, however far it is."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, case, func, literal, select, union_all

from app.domain.jobs import Job
from app.store.records import job_from_row
from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.sql.position_of import position_of
from app.store.tables import (
    READY,
    attempts,
    jobs,
    objectives,
    sample_values,
    samples,
    workers,
)
from app.store.work.row_locks import SELECT_JOBS
from counterpoise.wire.codes import FailureKind, JobState
from counterpoise.wire.failure_message import PART

MESSAGE_END = 400  # characters of a message in a list


def page_of_jobs(
    connection: Connection,
    study: int,
    after: int,
    limit: int,
    objective: int | None = None,
    state: JobState | None = None,
    *,
    newest_first: bool = False,
) -> list[Job]:
    """`after`: the number of the last job of the page before, or 0."""
    order = jobs.c.id.desc() if newest_first else jobs.c.id.asc()
    query = SELECT_JOBS.where(jobs.c.study_id == study).order_by(order).limit(limit)
    if after:
        is_next = jobs.c.id < after if newest_first else jobs.c.id > after
        query = query.where(is_next)
    if objective is not None:
        query = query.where(jobs.c.objective_id == objective)
    if state is not None:
        query = query.where(jobs.c.state == state)
    return [job_from_row(row) for row in connection.execute(query)]


def find_job(connection: Connection, job: int) -> Job | None:
    row = connection.execute(SELECT_JOBS.where(jobs.c.id == job)).one_or_none()
    return job_from_row(row) if row is not None else None


@dataclass(frozen=True, slots=True)
class LastAttempt:
    worker: str
    failure: FailureKind | None
    message: str | None


def last_attempt_of_each(
    connection: Connection, ids: Sequence[int]
) -> dict[int, LastAttempt]:
    """The last attempt of each of these jobs, with its message's end before the logs."""
    latest = (
        select(attempts.c.job_id, func.max(attempts.c.number).label("number"))
        .where(in_array(attempts.c.job_id, "ids", ids))
        .group_by(attempts.c.job_id)
        .subquery()
    )
    query = (
        select(
            attempts.c.job_id,
            workers.c.name,
            attempts.c.failure,
            _MESSAGE_END.label("message"),
        )
        .join(
            latest,
            (latest.c.job_id == attempts.c.job_id)
            & (latest.c.number == attempts.c.number),
        )
        .join(workers, workers.c.id == attempts.c.worker_id)
    )
    found = {}
    for row in connection.execute(query):
        failure = None if row.failure is None else FailureKind(row.failure)
        found[row.job_id] = LastAttempt(row.name, failure, row.message)
    return found


_first_part = position_of(attempts.c.message, PART)
_wrong = case(
    (_first_part > 1, func.substr(attempts.c.message, 1, _first_part - 1)),
    else_=attempts.c.message,
)
_length = func.length(_wrong)
_MESSAGE_END = func.substr(
    _wrong, case((_length > MESSAGE_END, _length - (MESSAGE_END - 1)), else_=1)
)


def head_ages(
    connection: Connection, objectives_: Sequence[int], after_cheap: Collection[int]
) -> dict[int, float]:
    """For how many seconds the job at the head of each of these queues has been ready;
    one query.

    A job is ready with its sample, when its last attempt ended, and, of the objectives
    `after_cheap`, when the other values of its sample were known. When jobs were
    retried is not stored.
    """
    if not objectives_:
        return {}
    parts = []
    for objective in objectives_:
        head = (
            select(
                literal(objective, objectives.c.id.type).label("objective"),
                database_now().label("now"),
                samples.c.created_at,
                _last_end.label("last_end"),
                _last_value.label("last_value"),
            )
            .join(jobs, jobs.c.sample_id == samples.c.id)
            .where(
                jobs.c.objective_id == objective,
                jobs.c.state == READY,
                jobs.c.ready_at.is_(None),
            )
            .order_by(jobs.c.cheap_only, jobs.c.id)
            .limit(1)
        )
        parts.append(select(head.subquery()))
    ages = {}
    for row in connection.execute(union_all(*parts)):
        times = [row.created_at, row.last_end]
        if row.objective in after_cheap:
            times.append(row.last_value)
        ready_at = max(time for time in times if time is not None)
        ages[row.objective] = float(row.now - ready_at)
    return ages


_last_end = (
    select(func.max(attempts.c.ended_at))
    .where(attempts.c.job_id == jobs.c.id)
    .correlate(jobs)
    .scalar_subquery()
)
_last_value = (
    select(func.max(sample_values.c.at))
    .where(sample_values.c.sample_id == jobs.c.sample_id)
    .correlate(jobs)
    .scalar_subquery()
)


def queue_head(connection: Connection, objective: int, limit: int) -> list[int]:
    """The first jobs of a queue, in the order of leasing."""
    query = (
        select(jobs.c.id)
        .where(
            jobs.c.objective_id == objective,
            jobs.c.state == READY,
            jobs.c.ready_at.is_(None),
        )
        .order_by(jobs.c.cheap_only, jobs.c.id)
        .limit(limit)
    )
    return list(connection.execute(query).scalars())
