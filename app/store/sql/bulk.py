"""Statements that write many rows: one statement on PostgreSQL, whatever their number.

PostgreSQL gets the rows as one JSON parameter, the fastest way to send and to read
them; executemany would send each row as a statement of its own. SQLite has no round
trip to save and uses executemany.
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
class BulkWrite:
    """A statement in both dialects, executed for all of some rows."""

    postgresql: Insert | Update
    sqlite: Insert | Update
    parameter: str  # holds all rows, on PostgreSQL

    def execute(self, connection: Connection, rows: Sequence[Row]) -> None:
        if not rows:
            return
        if connection.dialect.name == "postgresql":
            connection.execute(self.postgresql, {self.parameter: rows})
        else:
            connection.execute(self.sqlite, list(rows))


class CombinedWrite:
    """Bulk writes on different tables that are one statement on PostgreSQL; there all
    see the state before it.
    """

    def __init__(self, **parts: BulkWrite) -> None:
        self.parts = parts
        # The CTEs are not named like the tables, which they would hide from each other.
        (name, first), *others = parts.items()
        counted = first.postgresql.returning(_ONE).cte(f"_{name}")
        written = [part.postgresql.cte(f"_{name}") for name, part in others]
        self.postgresql = select(func.count()).select_from(counted).add_cte(*written)

    def execute(self, connection: Connection, **rows: Sequence[Row]) -> int:
        """Returns how many rows the first part wrote."""
        if connection.dialect.name == "postgresql":
            parameters = {
                part.parameter: rows[name] for name, part in self.parts.items()
            }
            return connection.execute(self.postgresql, parameters).scalar_one()
        counts = [
            _execute_many(connection, part, rows[name])
            for name, part in self.parts.items()
        ]
        return counts[0]


def _execute_many(connection: Connection, part: BulkWrite, rows: Sequence[Row]) -> int:
    return connection.execute(part.sqlite, list(rows)).rowcount if rows else 0


_ONE: ColumnElement[int] = literal_column("1", Integer)


def bulk_update(
    types: Mapping[str, TypeEngine[Any]],
    statement: Callable[[Given], Update],
    parameter: str = "rows",
) -> BulkWrite:
    """`statement` makes the UPDATE from a row's columns.

    PostgreSQL decides in which order rows are locked.
    """
    return BulkWrite(
        postgresql=statement(from_json(types, parameter)),
        sqlite=statement(
            {name: bindparam(name, type_=kind) for name, kind in types.items()}
        ),
        parameter=parameter,
    )


def bulk_insert(
    table: Table,
    names: Sequence[str],
    computed: Mapping[str, ColumnElement[Any]],
    on_conflict: Callable[[Any], Insert] = lambda insert: insert,
    parameter: str = "rows",
) -> BulkWrite:
    """Rows with the columns `names`; the other columns are computed."""
    given = from_json({name: table.c[name].type for name in names}, parameter)
    rows = select(*given.values(), *computed.values())
    return BulkWrite(
        postgresql=on_conflict(
            postgresql.insert(table).from_select([*names, *computed], rows)
        ),
        sqlite=on_conflict(sqlite.insert(table).values(dict(computed))),
        parameter=parameter,
    )


def from_json(types: Mapping[str, TypeEngine[Any]], parameter: str) -> Given:
    """The columns of the rows in a JSON parameter, on PostgreSQL."""
    columns = ", ".join(
        f'"{name}" {kind.compile(dialect=_POSTGRESQL)}' for name, kind in types.items()
    )
    # PostgreSQL expects 100 rows, and would rather read all of a small table than seek
    # so many. Of a LIMIT that it does not know (here none) it expects a tenth. Written
    # as text, with no column named twice, because psycopg parses a statement longer
    # than 4096 characters anew each time.
    rows = f"json_to_recordset(:{parameter}) AS given({columns})"
    given = text(f"SELECT * FROM {rows} LIMIT (SELECT NULL::bigint)")  # noqa: S608  (names of our own)
    given = given.bindparams(bindparam(parameter, type_=postgresql.JSON()))
    return dict(
        given.columns(*(column(name, kind) for name, kind in types.items()))
        .subquery()
        .c
    )


_POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]
