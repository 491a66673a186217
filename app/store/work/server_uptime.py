"""When API servers are up: workers can only send heartbeats while one is.

`served_s` is a clock of its own that runs only while a server is up and that cannot be
set: outages, and changes of the database's clock in either direction, add nothing to
it.
"""

from sqlalchemy import Connection, ScalarSelect, and_, case, select
from sqlalchemy.dialects import postgresql, sqlite

from app.store.sql.clock import database_now
from app.store.tables import server_uptime

RECORD_EVERY_S = 1.0
# A longer gap was an outage; a clock that was set back counts as one, too. Leases below
# twice as long are for tests.
GAP_S = 4.0


def record_uptime(connection: Connection) -> None:
    """Record that an API server is up and, after an outage, since when."""
    insert = (
        postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    )
    now = database_now()
    first = insert(server_uptime).values(id=1, seen_at=now, resumed_at=now)
    gap = now - server_uptime.c.seen_at
    was_outage = (gap > GAP_S) | (gap < -1.0)
    later = {
        "seen_at": now,
        "resumed_at": case((was_outage, now), else_=server_uptime.c.resumed_at),
        "served_s": server_uptime.c.served_s
        + case((was_outage | (gap < 0.0), 0.0), else_=gap),
    }
    connection.execute(first.on_conflict_do_update(index_elements=["id"], set_=later))


_GAP = database_now() - server_uptime.c.seen_at

SEEN_AT: ScalarSelect[float] = select(server_uptime.c.seen_at).scalar_subquery()
SERVED_S: ScalarSelect[float] = select(server_uptime.c.served_s).scalar_subquery()
# For how many seconds servers have been up without a gap; null if none is up now.
UP_S: ScalarSelect[float] = (
    select(database_now() - server_uptime.c.resumed_at)
    .where(and_(_GAP >= -1.0, _GAP <= GAP_S))
    .scalar_subquery()
)
