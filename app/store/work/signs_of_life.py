"""When workers were seen last, and names that two processes share.

Lock order: see `workers`.
"""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, exists, select, update

from app.store.sql.clock import database_now
from app.store.sql.code_points import by_code_points
from app.store.sql.in_array import in_array
from app.store.tables import workers
from app.store.work.attempts import attempts_with_leases


def seen_within(seconds: float) -> ColumnElement[bool]:
    """Times ahead of now come from a clock that was set back, and count as far as those
    behind.
    """
    return workers.c.last_seen_at.between(
        database_now() - seconds, database_now() + seconds
    )


def record_sign_of_life(connection: Connection, leases: Iterable[str]) -> None:
    """Record that the workers that hold these leases were seen, and whether one of them
    is a process whose name another process has taken since.
    """
    holders = connection.execute(_LOCK_HOLDERS, {"leases": leases}).all()
    connection.execute(_SEEN_NOW, {"ids": [row.id for row in holders]})
    shared = [row.id for row in holders if row.is_shared]
    if shared:
        connection.execute(_SHARED_NOW, {"ids": shared})


_held = attempts_with_leases("held")
_is_shared = exists().where(
    _held.c.worker_id == workers.c.id,
    _held.c.instance != workers.c.instance,
    workers.c.left_at.is_(None),
)
_LOCK_HOLDERS = (
    select(workers.c.id, _is_shared.label("is_shared"))
    .where(workers.c.id.in_(select(_held.c.worker_id)))
    .order_by(by_code_points(workers.c.name))
    .with_for_update()
)
_SEEN_NOW = (
    update(workers)
    .where(in_array(workers.c.id, "ids"))
    .values(last_seen_at=database_now())
)
_SHARED_NOW = (
    update(workers)
    .where(in_array(workers.c.id, "ids"))
    .values(shared_at=database_now())
)
