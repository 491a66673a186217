"""Deadlines of leases: extending them, and finding the leases that are over."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, case, delete, exists, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.tables import BY_NUMBER, LEASED, jobs, kept_leases, objectives
from app.store.work.server_uptime import SEEN_AT, SERVED_S, UP_S

# After an outage a lease is kept until servers have been up for one lease time without
# a gap, or in pieces for this many times as long.
IN_PIECES = 2.0

_LEASE_S = (
    select(objectives.c.lease_s)
    .where(objectives.c.id == jobs.c.objective_id)
    .correlate(jobs)
    .scalar_subquery()
)
_TIMEOUT_S = (
    select(objectives.c.timeout_s)
    .where(objectives.c.id == jobs.c.objective_id)
    .correlate(jobs)
    .scalar_subquery()
)
_LATEST = jobs.c.leased_at + _TIMEOUT_S  # null without a timeout
_NEXT = database_now() + _LEASE_S
# least() of PostgreSQL and min() of SQLite differ on nulls; this does not.
_DEADLINE = case((_LATEST < _NEXT, _LATEST), else_=_NEXT)


@dataclass(frozen=True, slots=True)
class Deadline:
    expires_at: float
    timed_out: bool  # `timeout_s` is over: the deadline does not move any more


def extend_leases(
    connection: Connection, jobs_by_lease: Mapping[str, int]
) -> dict[str, Deadline]:
    """Move the deadlines of current leases; returns those, by lease."""
    if not jobs_by_lease:
        return {}
    is_current = (
        in_array(jobs.c.id, "ids", jobs_by_lease.values()),
        in_array(jobs.c.lease, "leases", jobs_by_lease),
    )
    locked = (
        select(jobs.c.id)
        .where(*is_current)
        .order_by(jobs.c.study_id, jobs.c.id)
        .with_for_update()
    )
    ids = connection.execute(locked).scalars().all()
    timed_out = (jobs.c.expires_at <= database_now()).label("timed_out")
    rows = connection.execute(
        update(jobs)
        .where(
            in_array(jobs.c.id, "ids", ids),
            in_array(jobs.c.lease, "leases", jobs_by_lease),
        )
        .values(expires_at=_DEADLINE)
        .returning(jobs.c.lease, jobs.c.expires_at, timed_out)
    )
    return {row.lease: Deadline(row.expires_at, bool(row.timed_out)) for row in rows}


# A deadline counts only if a server was up after it: during an outage no lease expires.
_PAST = and_(
    jobs.c.state == LEASED,
    jobs.c.expires_at < database_now(),
    jobs.c.expires_at < SEEN_AT,
)
_KEPT = and_(
    kept_leases.c.job_id == jobs.c.id, kept_leases.c.expires_at == jobs.c.expires_at
)
_UP_LONG_ENOUGH = or_(
    _LEASE_S <= UP_S,
    exists()
    .where(_KEPT, SERVED_S - kept_leases.c.served_s >= IN_PIECES * _LEASE_S)
    .correlate(jobs),
)
# Null, and so not overdue, while no server is up
_OVERDUE = and_(_PAST, UP_S >= 0.0, _UP_LONG_ENOUGH)


def overdue_jobs(
    connection: Connection, limit: int, without: Collection[int] = ()
) -> list[tuple[int, int]]:
    """(job, study) of leases that are over, oldest first, except those of some studies."""
    query = select(jobs.c.id, jobs.c.study_id).where(
        _OVERDUE, jobs.c.study_id.not_in(without)
    )
    return [
        (row.id, row.study_id)
        for row in connection.execute(query.order_by(jobs.c.expires_at).limit(limit))
    ]


def still_overdue(connection: Connection, ids: Sequence[int]) -> set[int]:
    """Which of these jobs, now locked, are still overdue: a heartbeat may have come, or
    an outage begun.
    """
    query = select(jobs.c.id).where(in_array(jobs.c.id, "ids", ids), _OVERDUE)
    return set(connection.execute(query).scalars())


def record_kept_leases(connection: Connection) -> None:
    """Record leases past their deadline that an outage keeps, with the servers' uptime
    so far.
    """
    insert = (
        postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    )
    names = ["job_id", "expires_at", "served_s"]
    connection.execute(
        insert(kept_leases).from_select(names, PAST_AND_KEPT).on_conflict_do_nothing()
    )


PAST_AND_KEPT = (
    select(jobs.c.id, jobs.c.expires_at, SERVED_S)
    .where(_PAST, _LEASE_S > UP_S)
    .order_by(BY_NUMBER)
)

_STALE = ~exists().where(_KEPT, jobs.c.state == LEASED).correlate(kept_leases)


def any_stale_record(connection: Connection) -> bool:
    return (
        connection.execute(select(kept_leases.c.job_id).where(_STALE).limit(1)).first()
        is not None
    )


def delete_stale_records(connection: Connection) -> None:
    """Delete records of leases that were extended or have ended, in a transaction of
    its own.

    `record_kept_leases` may have to wait for it.
    """
    connection.execute(delete(kept_leases).where(_STALE))


def shorten_impossible_deadlines(connection: Connection) -> int:
    """Deadlines further ahead than a lease is long come from a clock that was set back;
    returns how many.
    """
    is_beyond = jobs.c.expires_at > database_now() + _LEASE_S + 1.0
    found = (
        select(jobs.c.id)
        .where(jobs.c.state == LEASED, is_beyond)
        .with_for_update(skip_locked=True)
        .cte("found")
    )
    statement = (
        update(jobs)
        .where(jobs.c.id.in_(select(found)))
        .values(expires_at=database_now() + _LEASE_S)
    )
    return connection.execute(statement).rowcount
