"""A job's transitions, each one compare-and-set statement. Lock order: study, then jobs; leasing locks no study."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    bindparam,
    column,
    exists,
    func,
    insert,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from app.store.clock import database_now, new_lease
from app.store.tables import READY, attempts, events, jobs, objectives, sample_values, samples, studies


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
class Told:
    """What a worker says of its lease: a value, or a failure for good."""

    job: int
    lease: str
    value: float | None = None
    failure: str | None = None
    message: str | None = None
    duration_s: float | None = None
    details: dict[str, Any] | None = None

    @property
    def state(self) -> str:
        return "failed" if self.failure else "done"


def lease(connection: Connection, queues: Sequence[int], worker: int, limit: int) -> list[Lease]:
    """ready -> leased: up to `limit` jobs from the heads of the queues (objective ids), in the order given."""
    sqlite = connection.dialect.name == "sqlite"
    given = json.dumps(list(queues)) if sqlite else list(queues)
    statement = TAKE_HEADS_SQLITE if sqlite else TAKE_HEADS_POSTGRESQL
    taken = connection.execute(statement, {"queues": given, "limit": limit}).all()
    if not taken:
        return []
    connection.execute(
        insert(attempts).values(worker_id=worker, leased_at=database_now()),
        [{"job_id": row.id, "number": row.attempts, "lease": row.lease} for row in taken],
    )
    wanted = {row.sample_id for row in taken}
    x = {row.id: row.x for row in connection.execute(select(samples.c.id, samples.c.x).where(samples.c.id.in_(wanted)))}
    return [
        Lease(
            job=row.id,
            lease=row.lease,
            study=row.study_id,
            objective=row.objective_id,
            sample=row.sample_id,
            attempt=row.attempts,
            expires_at=row.expires_at,
            x=x[row.sample_id],
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
        .with_for_update(skip_locked=True)
    )


def _heads_postgresql() -> Select[int]:
    queue = func.unnest(bindparam("queues", None, ARRAY(BigInteger))).table_valued("id", name="queue").render_derived()
    head = _head(queue.c.id).lateral("head")
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
        )
    )


TAKE_HEADS_POSTGRESQL = _take(_heads_postgresql())
TAKE_HEADS_SQLITE = _take(_heads_sqlite())


def settle(connection: Connection, told: Sequence[Told]) -> set[str]:
    """leased -> done | failed for the leases that are current; answers which were. A constant number of statements."""
    by_job = {one.job: one for one in told}
    owners = connection.execute(select(jobs.c.id, jobs.c.study_id).where(jobs.c.id.in_(by_job))).all()
    settled: set[str] = set()
    for study in sorted({owner.study_id for owner in owners}):
        settled |= _settle_study(connection, study, [by_job[owner.id] for owner in owners if owner.study_id == study])
    return settled


def _settle_study(connection: Connection, study: int, told: Sequence[Told]) -> set[str]:
    sequence: int = connection.scalars(select(studies.c.sequence).where(studies.c.id == study).with_for_update()).one()
    rows = [row for state in ("done", "failed") for row in _end_leases(connection, told, state)]
    by_job = {one.job: one for one in told}
    ends = [(row, by_job[row.id]) for row in sorted(rows, key=lambda row: row.id)]
    if not ends:
        return set()
    _record(connection, study, sequence, ends)
    finished = _count(connection, ends)
    connection.execute(
        update(studies)
        .where(studies.c.id == study)
        .values(sequence=sequence + len(ends), settled_full=studies.c.settled_full + finished)
    )
    return {one.lease for _, one in ends}


def _end_leases(connection: Connection, told: Sequence[Told], state: str) -> Sequence[Row[Any]]:
    current = [(one.job, one.lease) for one in told if one.state == state]
    if not current:
        return []
    return connection.execute(
        update(jobs)
        .where(tuple_(jobs.c.id, jobs.c.lease).in_(current), jobs.c.state == "leased")
        .values(state=state, lease=None, expires_at=None)
        .returning(jobs.c.id, jobs.c.sample_id, jobs.c.objective_id, jobs.c.cheap_only)
    ).all()


def _record(connection: Connection, study: int, sequence: int, ends: Sequence[tuple[Row[Any], Told]]) -> None:
    numbered = [(sequence + 1 + offset, row, one) for offset, (row, one) in enumerate(ends)]
    connection.execute(
        insert(sample_values).values(study_id=study, at=database_now()),
        [
            {
                "seq": seq,
                "sample_id": row.sample_id,
                "objective_id": row.objective_id,
                "value": one.value,
                "failure": one.failure,
            }
            for seq, row, one in numbered
        ],
    )
    connection.execute(
        insert(events).values(study_id=study, at=database_now()),
        [{"seq": seq, "kind": one.state, "body": {"job": row.id}} for seq, row, one in numbered],
    )
    connection.execute(
        update(attempts)
        .where(attempts.c.lease == bindparam("token"))
        .values(
            ended_at=database_now(),
            outcome=bindparam("state"),
            value=bindparam("told"),
            failure=bindparam("kind"),
            message=bindparam("text"),
            duration_s=bindparam("took"),
            details=bindparam("more"),
        ),
        [
            {
                "token": one.lease,
                "state": one.state,
                "told": one.value,
                "kind": one.failure,
                "text": one.message,
                "took": one.duration_s,
                "more": one.details,
            }
            for _, _, one in numbered
        ],
    )


def _count(connection: Connection, ends: Sequence[tuple[Row[Any], Told]]) -> int:
    """Keep the counters; answers how many full samples are settled by this."""
    done = Counter(row.objective_id for row, one in ends if one.state == "done")
    failed = Counter(row.objective_id for row, one in ends if one.state == "failed")
    full = Counter(row.objective_id for row, _ in ends if not row.cheap_only)
    connection.execute(
        update(objectives)
        .where(objectives.c.id == bindparam("objective"))
        .values(
            done=objectives.c.done + bindparam("more_done"),
            failed=objectives.c.failed + bindparam("more_failed"),
            open_full=objectives.c.open_full - bindparam("less_full"),
        ),
        [
            {"objective": o, "more_done": done[o], "more_failed": failed[o], "less_full": full[o]}
            for o in sorted(done | failed)
        ],
    )
    closed = Counter(row.sample_id for row, _ in ends)
    connection.execute(
        update(samples).where(samples.c.id == bindparam("sample")).values(open=samples.c.open - bindparam("less")),
        [{"sample": sample, "less": less} for sample, less in sorted(closed.items())],
    )
    settled = select(func.count()).where(samples.c.id.in_(closed), samples.c.full, samples.c.open == 0)
    return connection.execute(settled).scalar_one()
