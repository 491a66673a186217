"""The servers' pulse: workers can only give signs of life while a server is there to hear them."""

from sqlalchemy import Connection, case, select
from sqlalchemy.dialects import postgresql, sqlite

from app.store.clock import database_now
from app.store.tables import pulse

EVERY_S = 1.0
GAP_S = 4.0  # a longer silence was an outage; a clock that was set back counts as one, too


def beat(connection: Connection) -> None:
    """An API server is there; after an outage, note since when."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    now = database_now()
    statement = insert(pulse).values(id=1, seen_at=now, resumed_at=now)
    outage = (now - pulse.c.seen_at > GAP_S) | (now < pulse.c.seen_at - 1.0)
    resumed = case((outage, now), else_=pulse.c.resumed_at)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["id"], set_={"seen_at": now, "resumed_at": resumed})
    )


def hearing_since(connection: Connection) -> float | None:
    """For how many seconds servers have been there without a gap; None if none is there now."""
    now = database_now()
    row = connection.execute(
        select((now - pulse.c.seen_at).label("silent"), (now - pulse.c.resumed_at).label("up"))
    ).first()
    return None if row is None or not -1.0 <= row.silent <= GAP_S else float(row.up)
