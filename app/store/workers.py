"""Workers, known by the name they give."""

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from app.store.clock import database_now
from app.store.tables import workers


def see_worker(connection: Connection, name: str) -> int:
    """Note that the worker spoke, registering it the first time; answers its id."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = insert(workers).values(name=name, first_seen_at=database_now(), last_seen_at=database_now())
    seen = row.on_conflict_do_update(index_elements=["name"], set_={"last_seen_at": database_now()})
    worker: int = connection.execute(seen.returning(workers.c.id)).scalar_one()
    return worker
