"""Leases that run: prolonging, reviving, finding those that are over."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, and_, case, delete, exists, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.store.sql.clock import database_now
from app.store.sql.in_array import among
from app.store.tables import BY_NUMBER, LEASED, jobs, kept_leases, objectives
from app.store.work.server_uptime import SEEN_AT, SERVED_S, UP_S

# So much service in pieces, for every second of a lease, is as good as one lease time without a gap.
IN_PIECES = 2.0

_PATIENCE = select(objectives.c.lease_s).where(objectives.c.id == jobs.c.objective_id).correlate(jobs).scalar_subquery()
_TIMEOUT = (
    select(objectives.c.timeout_s).where(objectives.c.id == jobs.c.objective_id).correlate(jobs).scalar_subquery()
)
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
_PAST = and_(jobs.c.state == LEASED, jobs.c.expires_at < database_now(), jobs.c.expires_at < SEEN_AT)
_KEPT = and_(kept_leases.c.job_id == jobs.c.id, kept_leases.c.expires_at == jobs.c.expires_at)
_HEARD_LONG_ENOUGH = or_(
    _PATIENCE <= UP_S,
    exists().where(_KEPT, SERVED_S - kept_leases.c.served_s >= IN_PIECES * _PATIENCE).correlate(jobs),
)
_OVER = and_(_PAST, UP_S >= 0.0, _HEARD_LONG_ENOUGH)  # null, and so not over, while no server is there


def overdue(connection: Connection, limit: int, without: Collection[int] = ()) -> list[tuple[int, int]]:
    """Jobs (job, study) whose lease is over, oldest first; none of these studies."""
    query = select(jobs.c.id, jobs.c.study_id).where(_OVER, jobs.c.study_id.not_in(without))
    return [(row.id, row.study_id) for row in connection.execute(query.order_by(jobs.c.expires_at).limit(limit))]


def still_overdue(connection: Connection, ids: Sequence[int]) -> set[int]:
    """Which of these, now locked, are really over: a heartbeat may have come between, or an outage."""
    query = select(jobs.c.id).where(among(jobs.c.id, "ids", ids), _OVER)
    return set(connection.execute(query).scalars())


def note_kept(connection: Connection) -> None:
    """Of leases past their deadline that are kept because of an outage, note when that was, in time of service."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    names = ["job_id", "expires_at", "served_s"]
    connection.execute(insert(kept_leases).from_select(names, _PAST_AND_KEPT).on_conflict_do_nothing())


_PAST_AND_KEPT = select(jobs.c.id, jobs.c.expires_at, SERVED_S).where(_PAST, _PATIENCE > UP_S).order_by(BY_NUMBER)


_STALE = ~exists().where(_KEPT, jobs.c.state == LEASED).correlate(kept_leases)


def any_stale(connection: Connection) -> bool:
    return connection.execute(select(kept_leases.c.job_id).where(_STALE).limit(1)).first() is not None


def forget_stale(connection: Connection) -> None:
    """Forget leases that were prolonged or have ended. In a transaction of its own: `note_kept` may wait for it."""
    connection.execute(delete(kept_leases).where(_STALE))


def shorten_impossible(connection: Connection) -> int:
    """Deadlines further away than a lease is long come from a clock that was set back; answers how many."""
    beyond = jobs.c.expires_at > database_now() + _PATIENCE + 1.0
    found = select(jobs.c.id).where(jobs.c.state == LEASED, beyond).with_for_update(skip_locked=True).cte("found")
    statement = update(jobs).where(jobs.c.id.in_(select(found))).values(expires_at=database_now() + _PATIENCE)
    return connection.execute(statement).rowcount
