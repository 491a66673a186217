"""Statements that take many rows: one statement on PostgreSQL, whatever their number.

There the rows travel as one array per column; as executemany each would be a statement of its own. SQLite has no way
to the server to save, and would read numbers from JSON: there it is executemany.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Connection, Executable, Insert, Table, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

Row = Mapping[str, Any]
Given = Mapping[str, ColumnElement[Any]]  # a row's columns, by name


@dataclass(frozen=True, slots=True)
class ForEach:
    """A statement in both dialects, to be executed for all of some rows."""

    names: tuple[str, ...]
    postgresql: Executable
    sqlite: Executable

    def execute(self, connection: Connection, rows: Sequence[Row]) -> None:
        if not rows:
            return
        if connection.dialect.name == "postgresql":
            connection.execute(self.postgresql, {name: [row[name] for row in rows] for name in self.names})
        else:
            connection.execute(self.sqlite, list(rows))


def update_each(types: Mapping[str, TypeEngine[Any]], statement: Callable[[Given], Executable]) -> ForEach:
    """`statement` makes the UPDATE from a row's columns. The order in which rows are locked is PostgreSQL's own."""
    return ForEach(
        tuple(types),
        postgresql=statement(_arrays(types)),
        sqlite=statement({name: bindparam(name, type_=kind) for name, kind in types.items()}),
    )


def insert_each(
    table: Table,
    names: Sequence[str],
    computed: Mapping[str, ColumnElement[Any]],
    or_else: Callable[[Any], Insert] = lambda insert: insert,
) -> ForEach:
    """Rows with the columns `names`, the other columns computed; `or_else`: what to do where one is there already."""
    given = _arrays({name: table.c[name].type for name in names})
    rows = select(*given.values(), *computed.values())
    return ForEach(
        tuple(names),
        postgresql=or_else(postgresql.insert(table).from_select([*names, *computed], rows)),
        sqlite=or_else(sqlite.insert(table).values(dict(computed))),
    )


def _arrays(types: Mapping[str, TypeEngine[Any]]) -> Given:
    arrays = [bindparam(name, type_=ARRAY(kind, dimensions=1)) for name, kind in types.items()]
    return dict(func.unnest(*arrays).table_valued(*types, name="given").render_derived().c)
