"""Workers, known by the name they give."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from app.store.clock import database_now
from app.store.tables import workers


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker that spoke, and what it asked for."""

    name: str
    studies: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()


def see_workers(connection: Connection, seen: Sequence[Seen]) -> dict[str, int]:
    """Note that these workers spoke, registering new ones; answers their ids by name."""
    by_name = {one.name: one for one in seen}  # the last word of each counts
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = insert(workers).values(first_seen_at=database_now(), last_seen_at=database_now())
    asked = {"studies": row.excluded.studies, "objectives": row.excluded.objectives}
    upsert = row.on_conflict_do_update(index_elements=["name"], set_={"last_seen_at": database_now(), **asked})
    connection.execute(
        upsert,
        [
            {"name": name, "studies": list(one.studies), "objectives": list(one.objectives)}
            for name, one in sorted(by_name.items())  # in one order, so that two batches never lock crosswise
        ],
    )
    found = connection.execute(select(workers.c.name, workers.c.id).where(workers.c.name.in_(by_name)))
    return {each.name: each.id for each in found}
