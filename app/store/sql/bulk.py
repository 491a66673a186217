"""Statements that write many rows: one statement on PostgreSQL, whatever their number.

PostgreSQL gets the rows as one JSON parameter, the fastest way to send and to read
them; executemany would send each row as a statement of its own. SQLite has no round
trip to save and uses executemany, of the driver: SQLAlchemy's spends more time on a row
than SQLite does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
_POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]
_SQLITE = sqlite.dialect()


@dataclass(frozen=True, slots=True)
class BulkWrite:
    """A statement in both dialects, executed for all of some rows."""

    postgresql: Insert | Update
    sqlite: "CompiledForSqlite"
    parameter: str  # holds all rows, on PostgreSQL

    def execute(self, connection: Connection, rows: Sequence[Row]) -> None:
        if not rows:
            return
        if connection.dialect.name == "postgresql":
            connection.execute(self.postgresql, {self.parameter: rows})
        else:
            self.sqlite.execute(connection, rows)


class CompiledForSqlite:
    """A statement compiled once, with the columns that each row gives."""

    def __init__(self, statement: Insert | Update, names: Sequence[str]) -> None:
        compiled = statement.compile(dialect=_SQLITE, column_keys=list(names))
        self.sql = compiled.string
        self.names: Sequence[str] = compiled.positiontup or []
        given = set(names)
        # The others are constants of the statement
        self.constants = {n: v for n, v in compiled.params.items() if n not in given}
        types = {name: compiled.binds[name].type for name in self.names}
        self.converters = {
            name: converter
            for name, kind in types.items()
            if (converter := kind.dialect_impl(_SQLITE).bind_processor(_SQLITE))
        }

    def execute(self, connection: Connection, rows: Sequence[Row]) -> int:
        """Returns how many rows it wrote."""
        parameters = list(self._parameters(rows))
        return connection.exec_driver_sql(self.sql, parameters).rowcount

    def _parameters(self, rows: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            values = {**self.constants, **row}
            for name, convert in self.converters.items():
                values[name] = convert(values[name])
            yield tuple(values[name] for name in self.names)


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
            part.sqlite.execute(connection, rows[name]) if rows[name] else 0
            for name, part in self.parts.items()
        ]
        return counts[0]


_ONE: ColumnElement[int] = literal_column("1", Integer)


def bulk_update(
    types: Mapping[str, TypeEngine[Any]],
    statement: Callable[[Given], Update],
    parameter: str = "rows",
) -> BulkWrite:
    """`statement` makes the UPDATE from a row's columns.

    PostgreSQL decides in which order rows are locked.
    """
    parameters = {name: bindparam(name, type_=kind) for name, kind in types.items()}
    return BulkWrite(
        postgresql=statement(from_json(types, parameter)),
        sqlite=CompiledForSqlite(statement(parameters), list(types)),
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
    values = on_conflict(sqlite.insert(table).values(dict(computed)))
    return BulkWrite(
        postgresql=on_conflict(
            postgresql.insert(table).from_select([*names, *computed], rows)
        ),
        sqlite=CompiledForSqlite(values, [*names, *computed]),
        parameter=parameter,
    )


def from_json(types: Mapping[str, TypeEngine[Any]], parameter: str) -> Given:
    """The columns of the rows in a JSON parameter, on PostgreSQL."""
    columns = ", ".join(
        f'"{name}" {kind.compile(dialect=_POSTGRESQL)}' for name, kind in types.items()
    )
    # PostgreSQL expects 100 rows, and would rather read all of a small table than seek
    # that many. Of a LIMIT that it does not know (here none) it expects a tenth. Written
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
