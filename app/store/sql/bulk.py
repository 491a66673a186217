"""Statements that take many rows: one statement on PostgreSQL, whatever their number.

There the rows travel as JSON, which is the fastest to write here and to read there; as executemany each would be a
statement of its own. SQLite has no way to the server to save: there it is executemany.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Integer,
    Table,
    Update,
    bindparam,
    column,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

Row = Mapping[str, Any]
Given = Mapping[str, ColumnElement[Any]]  # a row's columns, by name


@dataclass(frozen=True, slots=True)
class ForEach:
    """A statement in both dialects, to be executed for all of some rows."""

    postgresql: Insert | Update
    sqlite: Insert | Update
    parameter: str  # for all rows, on PostgreSQL

    def execute(self, connection: Connection, rows: Sequence[Row]) -> None:
        if not rows:
            return
        if connection.dialect.name == "postgresql":
            connection.execute(self.postgresql, {self.parameter: rows})
        else:
            connection.execute(self.sqlite, list(rows))


class Together:
    """Statements on different tables, which on PostgreSQL are one: there all of them see what was before."""

    def __init__(self, **parts: ForEach) -> None:
        self.parts = parts
        # Named unlike the tables, which they would hide from each other.
        (name, first), *others = parts.items()
        written = first.postgresql.returning(_ONE).cte(f"_{name}")
        self.postgresql = (
            select(func.count())
            .select_from(written)
            .add_cte(*(part.postgresql.cte(f"_{name}") for name, part in others))
        )

    def execute(self, connection: Connection, **rows: Sequence[Row]) -> int:
        """How many rows the first of them wrote."""
        if connection.dialect.name == "postgresql":
            given = {part.parameter: rows[name] for name, part in self.parts.items()}
            return connection.execute(self.postgresql, given).scalar_one()
        counts = [
            connection.execute(part.sqlite, list(rows[name])).rowcount if rows[name] else 0
            for name, part in self.parts.items()
        ]
        return counts[0]


_ONE: ColumnElement[int] = literal_column("1", Integer)


def update_each(
    types: Mapping[str, TypeEngine[Any]], statement: Callable[[Given], Update], parameter: str = "rows"
) -> ForEach:
    """`statement` makes the UPDATE from a row's columns. The order in which rows are locked is PostgreSQL's own."""
    return ForEach(
        postgresql=statement(from_json(types, parameter)),
        sqlite=statement({name: bindparam(name, type_=kind) for name, kind in types.items()}),
        parameter=parameter,
    )


def insert_each(
    table: Table,
    names: Sequence[str],
    computed: Mapping[str, ColumnElement[Any]],
    or_else: Callable[[Any], Insert] = lambda insert: insert,
    parameter: str = "rows",
) -> ForEach:
    """Rows with the columns `names`, the other columns computed; `or_else`: what to do where one is there already."""
    given = from_json({name: table.c[name].type for name in names}, parameter)
    rows = select(*given.values(), *computed.values())
    return ForEach(
        postgresql=or_else(postgresql.insert(table).from_select([*names, *computed], rows)),
        sqlite=or_else(sqlite.insert(table).values(dict(computed))),
        parameter=parameter,
    )


def from_json(types: Mapping[str, TypeEngine[Any]], parameter: str) -> Given:
    columns = ", ".join(f'"{name}" {kind.compile(dialect=_POSTGRESQL)}' for name, kind in types.items())
    # PostgreSQL expects 100 rows, and would rather read all of a small table than seek so many; of a limit that it does
    # not know, here none, it expects a tenth. As text, with no column named twice: what is longer than 4096 characters,
    # psycopg takes apart anew each time.
    rows = f"json_to_recordset(:{parameter}) AS given({columns})"
    given = text(f"SELECT * FROM {rows} LIMIT (SELECT NULL::bigint)")  # noqa: S608  (names of our own)
    given = given.bindparams(bindparam(parameter, type_=postgresql.JSON()))
    return dict(given.columns(*(column(name, kind) for name, kind in types.items())).subquery().c)


_POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]
