"""Leasing: from ready to leased, by taking the heads of queues. Locks no study."""

import json
from collections.abc import Sequence
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
    case,
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

from app.domain.jobs import Lease, LeaseRequest
from app.store.sql.bulk import bulk_insert
from app.store.sql.clock import database_now, new_lease
from app.store.tables import READY, attempts, jobs, objectives, samples, studies
from counterpoise.wire.codes import JobState, StudyState

MOST_AT_ONCE = 256


def lease_jobs(connection: Connection, requests: Sequence[LeaseRequest]) -> list[Lease]:
    """ready -> leased, for all of these requests, no two of which may name the same
    queue.

    `open_attempts` records the workers, in the same transaction.
    """
    if connection.dialect.name == "sqlite":
        rows: list[Any] = []
        for request in requests:
            rows += connection.execute(
                TAKE_HEADS_SQLITE, _sqlite_parameters(request.queues, request.limit)
            ).all()
    else:
        given = [
            {"queues": request.queues, "max_jobs": min(request.limit, MOST_AT_ONCE)}
            for request in requests
        ]
        rows = list(connection.execute(TAKE_HEADS_POSTGRESQL, {"requests": given}))
    return [_lease(row) for row in sorted(rows, key=lambda row: row.id)]


def _lease(row: Any) -> Lease:
    return Lease(
        job=row.id,
        lease=row.lease,
        study=row.study_id,
        objective=row.objective_id,
        sample=row.sample_id,
        attempt=row.attempts,
        expires_at=row.expires_at,
        x=row.x,
    )


def _sqlite_parameters(queues: Sequence[int], limit: int) -> dict[str, Any]:
    return {"queues": json.dumps(list(queues)), "max_jobs": min(limit, MOST_AT_ONCE)}


def _head(queue: ColumnElement[int], limit: ColumnElement[int]) -> Select[int]:
    """The first jobs of one queue: an index seek, whatever the queue's length."""
    job = jobs.alias("job")
    return (
        select(job.c.id)
        .where(
            job.c.objective_id == queue, job.c.state == READY, job.c.ready_at.is_(None)
        )
        .order_by(job.c.cheap_only, job.c.id)
        .limit(limit)
    )


def _heads_postgresql() -> Select[int]:
    columns = (column("queues", ARRAY(BigInteger)), column("max_jobs", Integer))
    rows = func.json_to_recordset(
        bindparam("requests", type_=postgresql.JSON())
    ).table_valued(*columns, name="request")
    request = rows.render_derived(with_types=True)
    queue = (
        func.unnest(request.c.queues).table_valued("id", name="queue").render_derived()
    )
    # For a limit that a generic plan does not know PostgreSQL expects many rows, and
    # would scan instead of seek; so the inner limit is a literal. No more jobs are read
    # and locked than the outer limit takes.
    most = literal_column(str(MOST_AT_ONCE), Integer)
    head = _head(queue.c.id, most).with_for_update(skip_locked=True).lateral("head")
    taken = (
        select(head.c.id)
        .select_from(queue.join(head, true()))
        .limit(request.c.max_jobs)
        .lateral("taken")
    )
    return select(taken.c.id).select_from(request.join(taken, true()))


def _heads_sqlite() -> Select[int]:
    # SQLite has no LATERAL, but the arguments of a table-valued function may refer to
    # the tables before it.
    queue = func.json_each(bindparam("queues", None)).table_valued(
        column("value", BigInteger), name="queue"
    )
    limit = bindparam("max_jobs", 1, Integer)
    ids = select(
        func.json_group_array(
            _head(queue.c.value, limit).correlate(queue).subquery().c.id
        )
    ).scalar_subquery()
    head = func.json_each(ids.correlate(queue)).table_valued(
        column("value", BigInteger), name="head"
    )
    return select(head.c.value).select_from(queue.join(head, true())).limit(limit)


def _take(is_head: ColumnElement[bool]) -> ReturningUpdate[Any]:
    """One statement that leases these jobs, unless they were leased or their study was
    paused meanwhile.
    """
    # Never longer than the run may take.
    shorter = case(
        (objectives.c.timeout_s < objectives.c.lease_s, objectives.c.timeout_s),
        else_=objectives.c.lease_s,
    )
    lease_s = (
        select(shorter).where(objectives.c.id == jobs.c.objective_id).scalar_subquery()
    )
    x = select(samples.c.x).where(samples.c.id == jobs.c.sample_id).scalar_subquery()
    is_active = exists().where(
        studies.c.id == jobs.c.study_id, studies.c.state == StudyState.ACTIVE
    )
    return (
        update(jobs)
        .where(is_head, jobs.c.state == JobState.READY, is_active)
        .values(
            state=JobState.LEASED,
            lease=new_lease(),
            leased_at=database_now(),
            expires_at=database_now() + lease_s,
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
            x.label("x"),
        )
    )


# In a CTE the heads are chosen once; a planner might repeat a plain subquery, and lock
# other jobs each time. PostgreSQL does not know how many there are: for an array it
# expects few, and seeks them.
TAKE_HEADS_POSTGRESQL = _take(
    jobs.c.id
    == any_(func.array(select(_heads_postgresql().cte("chosen")).scalar_subquery()))
)
TAKE_HEADS_SQLITE = _take(jobs.c.id.in_(select(_heads_sqlite().cte("chosen"))))


def open_attempts(
    connection: Connection, leases: Sequence[tuple[Lease, int, str | None]]
) -> None:
    """Record which worker (id), and which process of it, holds each lease."""
    rows = [
        {
            "job_id": lease.job,
            "number": lease.attempt,
            "lease": lease.lease,
            "worker_id": worker,
            "objective_id": lease.objective,
            "instance": instance,
        }
        for lease, worker, instance in leases
    ]
    _OPEN.execute(connection, rows)


_OPEN = bulk_insert(
    attempts,
    ("job_id", "number", "lease", "worker_id", "instance", "objective_id"),
    {"leased_at": database_now()},
)


def any_ready(connection: Connection, queues: Sequence[int]) -> bool:
    """Whether there is anything to lease. Stops at the first job, and locks nothing."""
    if connection.dialect.name == "sqlite":
        return (
            connection.execute(ANY_HEAD_SQLITE, _sqlite_parameters(queues, 1)).first()
            is not None
        )
    return (
        connection.execute(ANY_HEAD_POSTGRESQL, {"queues": list(queues)}).first()
        is not None
    )


ANY_HEAD_SQLITE = _heads_sqlite()
_one = literal_column("1", Integer)
_queue = (
    func.unnest(bindparam("queues", None, ARRAY(BigInteger)))
    .table_valued("id", name="queue")
    .render_derived()
)
_any = _head(_queue.c.id, _one).lateral("head")
ANY_HEAD_POSTGRESQL = (
    select(_any.c.id).select_from(_queue.join(_any, true())).limit(_one)
)
