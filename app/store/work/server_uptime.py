"""The servers' pulse: workers can only give signs of life while a server is there to hear them.

`served_s` is a clock of its own that runs only while a server is there, and that nobody can set: silences, and steps of
the database's clock in either direction, add nothing to it.
"""

from sqlalchemy import Connection, ScalarSelect, and_, case, select
from sqlalchemy.dialects import postgresql, sqlite

from app.store.sql.clock import database_now
from app.store.tables import pulse

EVERY_S = 1.0
# A longer silence was an outage; a clock that was set back counts as one, too. Leases below twice as long: for tests.
GAP_S = 4.0


def beat(connection: Connection) -> None:
    """An API server is there; after an outage, note since when."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    now = database_now()
    statement = insert(pulse).values(id=1, seen_at=now, resumed_at=now)
    since = now - pulse.c.seen_at
    outage = (since > GAP_S) | (since < -1.0)
    after = {
        "seen_at": now,
        "resumed_at": case((outage, now), else_=pulse.c.resumed_at),
        "served_s": pulse.c.served_s + case((outage | (since < 0.0), 0.0), else_=since),
    }
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=after))


_SILENT_S = database_now() - pulse.c.seen_at

SEEN_AT: ScalarSelect[float] = select(pulse.c.seen_at).scalar_subquery()
SERVED_S: ScalarSelect[float] = select(pulse.c.served_s).scalar_subquery()
# For how many seconds servers have been there without a gap; null if none is there now.
UP_S: ScalarSelect[float] = (
    select(database_now() - pulse.c.resumed_at).where(and_(_SILENT_S >= -1.0, _SILENT_S <= GAP_S)).scalar_subquery()
)
