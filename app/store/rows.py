"""Statements that take many rows: one statement on PostgreSQL, whatever their number.

There the rows travel as one array per column; as executemany each would be a statement of its own. SQLite has no way
to the server to save, and would read numbers from JSON: there it is executemany.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Insert,
    Table,
    Update,
    bindparam,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

Row = Mapping[str, Any]
Given = Mapping[str, ColumnElement[Any]]  # a row's columns, by name


@dataclass(frozen=True, slots=True)
class ForEach:
    """A statement in both dialects, to be executed for all of some rows."""

    names: tuple[str, ...]
    postgresql: Insert | Update
    sqlite: Insert | Update
    prefix: str  # of its parameters on PostgreSQL, so that they differ from those of other statements

    def execute(self, connection: Connection, rows: Sequence[Row]) -> None:
        if not rows:
            return
        if connection.dialect.name == "postgresql":
            connection.execute(self.postgresql, self.arrays(rows))
        else:
            connection.execute(self.sqlite, list(rows))

    def arrays(self, rows: Sequence[Row]) -> dict[str, list[Any]]:
        return {self.prefix + name: [row[name] for row in rows] for name in self.names}


class Together:
    """Statements on different tables, which on PostgreSQL are one."""

    def __init__(self, **parts: ForEach) -> None:
        self.parts = parts
        written = [part.postgresql.returning(literal_column("1")).cte(name) for name, part in parts.items()]
        counts = [select(func.count()).select_from(each).scalar_subquery().label(each.name) for each in written]
        self.postgresql = select(*counts)

    def execute(self, connection: Connection, **rows: Sequence[Row]) -> dict[str, int]:
        """How many rows each of them wrote."""
        if connection.dialect.name == "postgresql":
            given = {
                name: array for what, part in self.parts.items() for name, array in part.arrays(rows[what]).items()
            }
            return dict(connection.execute(self.postgresql, given).mappings().one())
        return {
            what: connection.execute(part.sqlite, list(rows[what])).rowcount if rows[what] else 0
            for what, part in self.parts.items()
        }


def update_each(
    types: Mapping[str, TypeEngine[Any]], statement: Callable[[Given], Update], prefix: str = ""
) -> ForEach:
    """`statement` makes the UPDATE from a row's columns. The order in which rows are locked is PostgreSQL's own."""
    return ForEach(
        tuple(types),
        postgresql=statement(_arrays(types, prefix)),
        sqlite=statement({name: bindparam(name, type_=kind) for name, kind in types.items()}),
        prefix=prefix,
    )


def insert_each(
    table: Table,
    names: Sequence[str],
    computed: Mapping[str, ColumnElement[Any]],
    or_else: Callable[[Any], Insert] = lambda insert: insert,
    prefix: str = "",
) -> ForEach:
    """Rows with the columns `names`, the other columns computed; `or_else`: what to do where one is there already."""
    given = _arrays({name: table.c[name].type for name in names}, prefix)
    rows = select(*given.values(), *computed.values())
    return ForEach(
        tuple(names),
        postgresql=or_else(postgresql.insert(table).from_select([*names, *computed], rows)),
        sqlite=or_else(sqlite.insert(table).values(dict(computed))),
        prefix=prefix,
    )


def _arrays(types: Mapping[str, TypeEngine[Any]], prefix: str) -> Given:
    arrays = [bindparam(prefix + name, type_=ARRAY(kind, dimensions=1)) for name, kind in types.items()]
    return dict(func.unnest(*arrays).table_valued(*types, name="given").render_derived().c)
