"""Workers that are alive, and what they hold."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, select

from app.domain.workers import ALIVE_S, HeldLease, RunningJob, Worker
from app.store.records import worker_from_row
from app.store.sql.in_array import in_array
from app.store.tables import LEASED, attempts, jobs, objectives, workers
from app.store.work.signs_of_life import seen_within


def held_leases(
    connection: Connection, holders: Collection[int] | None = None
) -> dict[int, list[HeldLease]]:
    """The current leases by worker (id), of all workers or of some."""
    query = (
        select(attempts.c.worker_id, jobs.c.id, attempts.c.leased_at)
        .join(jobs, jobs.c.id == attempts.c.job_id)
        .where(jobs.c.state == LEASED, attempts.c.lease == jobs.c.lease)
        .order_by(jobs.c.id)
    )
    if holders is not None:
        query = query.where(in_array(attempts.c.worker_id, "holders", holders))
    held: dict[int, list[HeldLease]] = {}
    for row in connection.execute(query):
        held.setdefault(row.worker_id, []).append(HeldLease(row.id, row.leased_at))
    return held


def running_jobs(connection: Connection, study: int) -> list[RunningJob]:
    """The study's leased jobs, oldest lease first; as many rows as there are."""
    query = (
        select(
            jobs.c.id.label("job"),
            objectives.c.id.label("objective"),
            objectives.c.name.label("objective_name"),
            workers.c.id.label("worker_id"),
            workers.c.name.label("worker"),
            attempts.c.leased_at,
        )
        .select_from(objectives)
        .join(jobs, jobs.c.objective_id == objectives.c.id)
        .join(attempts, attempts.c.lease == jobs.c.lease)
        .join(workers, workers.c.id == attempts.c.worker_id)
        .where(objectives.c.study_id == study, jobs.c.state == LEASED)
        .order_by(attempts.c.leased_at)
    )
    return [RunningJob(**row) for row in connection.execute(query).mappings()]


def live_workers(
    connection: Connection, holding: Collection[int] = ()
) -> Sequence[Worker]:
    """`Worker.is_alive` in SQL; `holding`: the ids of those that hold jobs."""
    was_seen = seen_within(ALIVE_S) & workers.c.left_at.is_(None)
    is_alive = was_seen | in_array(workers.c.id, "ids", holding)
    return [
        worker_from_row(row)
        for row in connection.execute(select(workers).where(is_alive))
    ]
