"""Leasing: from ready to leased, by taking the heads of queues. Locks no study."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    bindparam,
    column,
    exists,
    func,
    select,
    true,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from app.store.clock import database_now, new_lease
from app.store.rows import insert_each
from app.store.tables import READY, attempts, jobs, objectives, samples, studies


@dataclass(frozen=True, slots=True)
class Lease:
    """A job handed to a worker until a deadline."""

    job: int
    lease: str
    study: int
    objective: int
    sample: int
    attempt: int
    expires_at: float
    x: list[float]


def lease(connection: Connection, queues: Sequence[int], limit: int) -> list[Lease]:
    """ready -> leased: up to `limit` jobs from the heads of the queues (objective ids), in the order given.

    Whose they are is said by `open_attempts`, in the same transaction.
    """
    sqlite = connection.dialect.name == "sqlite"
    given = json.dumps(list(queues)) if sqlite else list(queues)
    statement = TAKE_HEADS_SQLITE if sqlite else TAKE_HEADS_POSTGRESQL
    taken = connection.execute(statement, {"queues": given, "limit": limit}).all()
    if not taken:
        return []
    return [
        Lease(
            job=row.id,
            lease=row.lease,
            study=row.study_id,
            objective=row.objective_id,
            sample=row.sample_id,
            attempt=row.attempts,
            expires_at=row.expires_at,
            x=row.x,
        )
        for row in sorted(taken, key=lambda row: row.id)
    ]


# Written into the statement, not bound: a plan for any limit expects many rows, and then scans instead of seeking.
_LIMIT = bindparam("limit", 1, Integer, literal_execute=True)


def _head(queue: ColumnElement[int]) -> Select[int]:
    """The first jobs of one queue: an index seek, whatever the queue's length."""
    job = jobs.alias("job")
    return (
        select(job.c.id)
        .where(job.c.objective_id == queue, job.c.state == READY, job.c.ready_at.is_(None))
        .order_by(job.c.cheap_only, job.c.id)
        .limit(_LIMIT)
    )


def _heads_postgresql(*, lock: bool) -> Select[int]:
    queue = func.unnest(bindparam("queues", None, ARRAY(BigInteger))).table_valued("id", name="queue").render_derived()
    first = _head(queue.c.id)
    head = (first.with_for_update(skip_locked=True) if lock else first).lateral("head")
    return select(head.c.id).select_from(queue.join(head, true())).limit(_LIMIT)


def _heads_sqlite() -> Select[int]:
    # SQLite knows no LATERAL, but the arguments of a table-valued function may refer to the tables before it.
    queue = func.json_each(bindparam("queues", None)).table_valued(column("value", BigInteger), name="queue")
    ids = select(func.json_group_array(_head(queue.c.value).correlate(queue).subquery().c.id)).scalar_subquery()
    head = func.json_each(ids.correlate(queue)).table_valued(column("value", BigInteger), name="head")
    return select(head.c.value).select_from(queue.join(head, true())).limit(_LIMIT)


def _take(heads: Select[int]) -> ReturningUpdate[Any]:
    """One statement that leases these jobs, if nobody has and nobody paused their study meanwhile."""
    # As a CTE the heads are chosen once; a planner might repeat a mere subquery, and lock other jobs each time.
    chosen = heads.cte("chosen")
    patience = select(objectives.c.lease_s).where(objectives.c.id == jobs.c.objective_id).scalar_subquery()
    point = select(samples.c.x).where(samples.c.id == jobs.c.sample_id).scalar_subquery()
    return (
        update(jobs)
        .where(jobs.c.id.in_(select(chosen)), jobs.c.state == "ready")
        .where(exists().where(studies.c.id == jobs.c.study_id, studies.c.state == "active"))
        .values(
            state="leased",
            lease=new_lease(),
            leased_at=database_now(),
            expires_at=database_now() + patience,
            attempts=jobs.c.attempts + 1,
        )
        .returning(
            jobs.c.id,
            jobs.c.lease,
            jobs.c.study_id,
            jobs.c.objective_id,
            jobs.c.sample_id,
            jobs.c.attempts,
            jobs.c.expires_at,
            point.label("x"),
        )
    )


TAKE_HEADS_POSTGRESQL = _take(_heads_postgresql(lock=True))
TAKE_HEADS_SQLITE = _take(_heads_sqlite())
_HEADS_POSTGRESQL = _heads_postgresql(lock=False)
_HEADS_SQLITE = _heads_sqlite()


def open_attempts(connection: Connection, owners: Sequence[tuple[Lease, int]]) -> None:
    """Note whose each lease is (a worker's id)."""
    _OPEN.execute(
        connection,
        [{"job_id": one.job, "number": one.attempt, "lease": one.lease, "worker_id": worker} for one, worker in owners],
    )


_OPEN = insert_each(attempts, ("job_id", "number", "lease", "worker_id"), {"leased_at": database_now()})


def any_ready(connection: Connection, queues: Sequence[int]) -> bool:
    """Is there anything to lease? Looks at one head a queue and locks nothing."""
    sqlite = connection.dialect.name == "sqlite"
    given = json.dumps(list(queues)) if sqlite else list(queues)
    statement = _HEADS_SQLITE if sqlite else _HEADS_POSTGRESQL
    return connection.execute(statement, {"queues": given, "limit": 1}).first() is not None
