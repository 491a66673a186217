"""Workers, known by the name they give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Executable, Table, select
from sqlalchemy.dialects import postgresql, sqlite

from app.store.among import among
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
    upsert = _UPSERT[connection.dialect.name]
    connection.execute(
        upsert,
        [
            {"name": name, "studies": list(one.studies), "objectives": list(one.objectives)}
            for name, one in sorted(by_name.items())  # in one order, so that two batches never lock crosswise
        ],
    )
    return {row.name: row.id for row in connection.execute(_IDS, {"names": by_name})}


_IDS = select(workers.c.name, workers.c.id).where(among(workers.c.name, "names"))


def _upsert(insert: Callable[[Table], Any]) -> Executable:
    row = insert(workers).values(first_seen_at=database_now(), last_seen_at=database_now())
    asked = {"studies": row.excluded.studies, "objectives": row.excluded.objectives}
    upsert: Executable = row.on_conflict_do_update(
        index_elements=["name"], set_={"last_seen_at": database_now(), **asked}
    )
    return upsert


_UPSERT = {"postgresql": _upsert(postgresql.insert), "sqlite": _upsert(sqlite.insert)}
