"""Pages of what a study has, by id: each costs the same, however far it is."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, func, select

from app.store.sql.clock import database_now
from app.store.sql.in_array import among
from app.store.tables import LEASED, READY, attempts, jobs, sample_values, samples, steps, workers
from app.store.work.workers import seen_within


def page_of_jobs(
    connection: Connection, study: int, after: int, limit: int, objective: int | None, state: str | None
) -> Sequence[RowMapping]:
    query = select(jobs).where(jobs.c.study_id == study, jobs.c.id > after).order_by(jobs.c.id).limit(limit)
    if objective is not None:
        query = query.where(jobs.c.objective_id == objective)
    if state is not None:
        query = query.where(jobs.c.state == state)
    return connection.execute(query).mappings().all()


def last_workers(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    """Who had each of these jobs last."""
    latest = (
        select(attempts.c.job_id, func.max(attempts.c.number).label("number"))
        .where(among(attempts.c.job_id, "ids", ids))
        .group_by(attempts.c.job_id)
        .subquery()
    )
    query = (
        select(attempts.c.job_id, workers.c.name)
        .join(latest, (latest.c.job_id == attempts.c.job_id) & (latest.c.number == attempts.c.number))
        .join(workers, workers.c.id == attempts.c.worker_id)
    )
    return {row.job_id: row.name for row in connection.execute(query)}


def attempts_of(connection: Connection, ids: Sequence[int]) -> Sequence[RowMapping]:
    """All attempts at these jobs, in their order, with the worker's name."""
    query = (
        select(*attempts.c, workers.c.name.label("worker"))
        .join(workers, workers.c.id == attempts.c.worker_id)
        .where(among(attempts.c.job_id, "ids", ids))
        .order_by(attempts.c.job_id, attempts.c.number)
    )
    return connection.execute(query).mappings().all()


def page_of_samples(
    connection: Connection, study: int, after: int, limit: int, full: bool | None = None
) -> Sequence[RowMapping]:
    query = _SAMPLES.where(samples.c.study_id == study, samples.c.id > after).order_by(samples.c.id).limit(limit)
    if full is not None:
        query = query.where(samples.c.full == full)
    return connection.execute(query).mappings().all()


_SAMPLES = select(*samples.c, steps.c.kind, steps.c.number, steps.c.objective).outerjoin(
    steps, steps.c.id == samples.c.step_id
)


def values_of(connection: Connection, ids: Sequence[int]) -> Sequence[RowMapping]:
    """What was learnt of these samples, in the order of the sequence."""
    query = select(sample_values).where(among(sample_values.c.sample_id, "ids", ids)).order_by(sample_values.c.seq)
    return connection.execute(query).mappings().all()


def page_of_workers(connection: Connection, after: int, limit: int) -> Sequence[RowMapping]:
    query = select(workers).where(workers.c.id > after).order_by(workers.c.id).limit(limit)
    return connection.execute(query).mappings().all()


class Held(NamedTuple):
    job: int
    leased_at: float


def jobs_held(connection: Connection) -> dict[int, list[Held]]:
    """The leased jobs by worker; as many rows as there are busy slots."""
    query = (
        select(attempts.c.worker_id, jobs.c.id, attempts.c.leased_at)
        .join(jobs, jobs.c.id == attempts.c.job_id)
        .where(jobs.c.state == LEASED, attempts.c.lease == jobs.c.lease)
        .order_by(jobs.c.id)
    )
    held: dict[int, list[Held]] = {}
    for row in connection.execute(query):
        held.setdefault(row.worker_id, []).append(Held(row.id, row.leased_at))
    return held


def live_workers(connection: Connection, within_s: float, holding: Collection[int] = ()) -> Sequence[RowMapping]:
    """Those that spoke lately, and those that hold jobs: who computes for hours need not speak."""
    alive = seen_within(within_s) | among(workers.c.id, "ids", holding)
    return connection.execute(select(workers).where(alive)).mappings().all()


def head_age(connection: Connection, objective: int) -> float | None:
    """How long the job at the queue's head has been there, in seconds."""
    query = (
        select((database_now() - samples.c.created_at).label("age"))
        .join(jobs, jobs.c.sample_id == samples.c.id)
        .where(jobs.c.objective_id == objective, jobs.c.state == READY, jobs.c.ready_at.is_(None))
        .order_by(jobs.c.cheap_only, jobs.c.id)
        .limit(1)
    )
    age: Any = connection.execute(query).scalar()
    return None if age is None else float(age)


def queue_head(connection: Connection, objective: int, most: int) -> list[int]:
    """The first jobs of a queue, in the order of leasing."""
    query = (
        select(jobs.c.id)
        .where(jobs.c.objective_id == objective, jobs.c.state == READY, jobs.c.ready_at.is_(None))
        .order_by(jobs.c.cheap_only, jobs.c.id)
        .limit(most)
    )
    return list(connection.execute(query).scalars())


def find_job(connection: Connection, job: int) -> RowMapping | None:
    return connection.execute(select(jobs).where(jobs.c.id == job)).mappings().one_or_none()


def find_sample(connection: Connection, sample: int) -> RowMapping:
    """With the step that asked for it."""
    return connection.execute(_SAMPLES.where(samples.c.id == sample)).mappings().one()


def database_time(connection: Connection) -> float:
    return connection.execute(select(database_now())).scalar_one()
