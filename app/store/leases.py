"""Leases that run: prolonging, reviving, finding those that are over."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, case, select, update

from app.store.among import among
from app.store.clock import database_now
from app.store.tables import LEASED, jobs, objectives, pulse

_PATIENCE = select(objectives.c.lease_s).where(objectives.c.id == jobs.c.objective_id).scalar_subquery()
_TIMEOUT = select(objectives.c.timeout_s).where(objectives.c.id == jobs.c.objective_id).scalar_subquery()
_LATEST = jobs.c.leased_at + _TIMEOUT  # null without a timeout
_NEXT = database_now() + _PATIENCE
# least() of PostgreSQL and min() of SQLite differ on nulls; this does not.
_DEADLINE = case((_LATEST < _NEXT, _LATEST), else_=_NEXT)


def prolong(connection: Connection, issued: Mapping[str, int]) -> dict[str, tuple[float, bool]]:
    """Move the deadlines of current leases (and their jobs); answers deadline and whether the timeout is over."""
    current = select(jobs.c.id).where(among(jobs.c.id, "ids", issued.values()), among(jobs.c.lease, "leases", issued))
    ids = (
        connection.execute(current.order_by(jobs.c.study_id, jobs.c.id).with_for_update()).scalars().all()
    )  # locked in the order of all
    over = (jobs.c.expires_at <= database_now()).label("over")
    rows = connection.execute(
        update(jobs)
        .where(among(jobs.c.id, "ids", ids), among(jobs.c.lease, "leases", issued))
        .values(expires_at=_DEADLINE)
        .returning(jobs.c.lease, jobs.c.expires_at, over)
    )
    return {row.lease: (row.expires_at, bool(row.over)) for row in rows}


# A deadline counts only if a server was there after it: during a silence nothing is over.
_OVER = (jobs.c.expires_at < database_now()) & (jobs.c.expires_at < select(pulse.c.seen_at).scalar_subquery())


def overdue(connection: Connection, up_s: float, limit: int) -> list[tuple[int, int]]:
    """Jobs (job, study) whose lease is over, if servers have been there for at least one lease time."""
    query = (
        select(jobs.c.id, jobs.c.study_id)
        .join(objectives, objectives.c.id == jobs.c.objective_id)
        .where(jobs.c.state == LEASED, _OVER, objectives.c.lease_s <= up_s)
        .order_by(jobs.c.expires_at)
        .limit(limit)
    )
    return [(row.id, row.study_id) for row in connection.execute(query)]


def still_overdue(connection: Connection, ids: Sequence[int]) -> set[int]:
    """Which of these, now locked, are really over: a heartbeat may have come between."""
    query = select(jobs.c.id).where(among(jobs.c.id, "ids", ids), jobs.c.state == LEASED, _OVER)
    return set(connection.execute(query).scalars())


def shorten_impossible(connection: Connection) -> int:
    """Deadlines further away than a lease is long come from a clock that was set back; answers how many."""
    beyond = jobs.c.expires_at > database_now() + _PATIENCE + 1.0
    found = select(jobs.c.id).where(jobs.c.state == LEASED, beyond).with_for_update(skip_locked=True).cte("found")
    statement = update(jobs).where(jobs.c.id.in_(select(found))).values(expires_at=database_now() + _PATIENCE)
    return connection.execute(statement).rowcount
