"""Leasing: from ready to leased, by taking the heads of queues. Locks no study."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    any_,
    bindparam,
    column,
    exists,
    func,
    literal_column,
    select,
    true,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.dml import ReturningUpdate

from app.store.sql.bulk import insert_each
from app.store.sql.clock import database_now, new_lease
from app.store.tables import READY, attempts, jobs, objectives, samples, studies

MOST_AT_ONCE = 256


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


@dataclass(frozen=True, slots=True)
class Wish:
    """Up to `most` jobs from the heads of some queues (objective ids), in the order given."""

    queues: Sequence[int]
    most: int


def lease(connection: Connection, wishes: Sequence[Wish]) -> list[Lease]:
    """ready -> leased, for all of these wishes, no two of which may name the same queue.

    Whose they are is said by `open_attempts`, in the same transaction.
    """
    given = [{"queues": list(wish.queues), "most": min(wish.most, MOST_AT_ONCE)} for wish in wishes]
    if connection.dialect.name == "sqlite":
        taken = [row for one in given for row in connection.execute(TAKE_HEADS_SQLITE, _in_sqlite(one))]
    else:
        taken = list(connection.execute(TAKE_HEADS_POSTGRESQL, {"wishes": given}))
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


def _in_sqlite(wish: Mapping[str, Any]) -> dict[str, Any]:
    return {"queues": json.dumps(wish["queues"]), "most": wish["most"]}


def _head(queue: ColumnElement[int], most: ColumnElement[int]) -> Select[int]:
    """The first jobs of one queue: an index seek, whatever the queue's length."""
    job = jobs.alias("job")
    return (
        select(job.c.id)
        .where(job.c.objective_id == queue, job.c.state == READY, job.c.ready_at.is_(None))
        .order_by(job.c.cheap_only, job.c.id)
        .limit(most)
    )


def _heads_postgresql() -> Select[int]:
    columns = (column("queues", ARRAY(BigInteger)), column("most", Integer))
    given = func.json_to_recordset(bindparam("wishes", type_=postgresql.JSON())).table_valued(*columns, name="wish")
    wish = given.render_derived(with_types=True)
    queue = func.unnest(wish.c.queues).table_valued("id", name="queue").render_derived()
    # Of a limit that a plan does not know PostgreSQL expects many rows, and would scan instead of seek; so the limit
    # inside is written into the statement. No more are read, and locked, than the outer one takes.
    head = (
        _head(queue.c.id, literal_column(str(MOST_AT_ONCE), Integer)).with_for_update(skip_locked=True).lateral("head")
    )
    taken = select(head.c.id).select_from(queue.join(head, true())).limit(wish.c.most).lateral("taken")
    return select(taken.c.id).select_from(wish.join(taken, true()))


def _heads_sqlite() -> Select[int]:
    # SQLite knows no LATERAL, but the arguments of a table-valued function may refer to the tables before it.
    queue = func.json_each(bindparam("queues", None)).table_valued(column("value", BigInteger), name="queue")
    most = bindparam("most", 1, Integer)
    ids = select(func.json_group_array(_head(queue.c.value, most).correlate(queue).subquery().c.id)).scalar_subquery()
    head = func.json_each(ids.correlate(queue)).table_valued(column("value", BigInteger), name="head")
    return select(head.c.value).select_from(queue.join(head, true())).limit(most)


def _take(is_head: ColumnElement[bool]) -> ReturningUpdate[Any]:
    """One statement that leases these jobs, if nobody has and nobody paused their study meanwhile."""
    patience = select(objectives.c.lease_s).where(objectives.c.id == jobs.c.objective_id).scalar_subquery()
    point = select(samples.c.x).where(samples.c.id == jobs.c.sample_id).scalar_subquery()
    return (
        update(jobs)
        .where(is_head, jobs.c.state == "ready")
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


# As a CTE the heads are chosen once; a planner might repeat a mere subquery, and lock other jobs each time. PostgreSQL
# does not know how many there are: of an array it expects few, and seeks them.
TAKE_HEADS_POSTGRESQL = _take(
    jobs.c.id == any_(func.array(select(_heads_postgresql().cte("chosen")).scalar_subquery()))
)
TAKE_HEADS_SQLITE = _take(jobs.c.id.in_(select(_heads_sqlite().cte("chosen"))))


def open_attempts(connection: Connection, owners: Sequence[tuple[Lease, int]]) -> None:
    """Note whose each lease is (a worker's id)."""
    _OPEN.execute(
        connection,
        [{"job_id": one.job, "number": one.attempt, "lease": one.lease, "worker_id": worker} for one, worker in owners],
    )


_OPEN = insert_each(attempts, ("job_id", "number", "lease", "worker_id"), {"leased_at": database_now()})


def any_ready(connection: Connection, queues: Sequence[int]) -> bool:
    """Is there anything to lease? Stops at the first, and locks nothing."""
    if connection.dialect.name == "sqlite":
        wish = _in_sqlite({"queues": list(queues), "most": 1})
        return connection.execute(ANY_HEAD_SQLITE, wish).first() is not None
    return connection.execute(ANY_HEAD_POSTGRESQL, {"queues": list(queues)}).first() is not None


ANY_HEAD_SQLITE = _heads_sqlite()
_one = literal_column("1", Integer)
_queue = func.unnest(bindparam("queues", None, ARRAY(BigInteger))).table_valued("id", name="queue").render_derived()
_any = _head(_queue.c.id, _one).lateral("head")
ANY_HEAD_POSTGRESQL = select(_any.c.id).select_from(_queue.join(_any, true())).limit(_one)
