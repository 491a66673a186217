"""A database as the first version left it, with studies in every state."""

from collections.abc import Mapping, Sequence
from typing import Any

from alembic import command

from app.store.database import Database
from app.store.tables import metadata
from app.store.upgrade import migration_config
from tests.store.test_old_data import OLD, fill, rows_of

FIRST = "0001"


def write_as_the_first_version(database: Database) -> None:
    database.migrate(lambda connection: command.upgrade(migration_config(connection), FIRST))
    database.write(fill)


def as_the_first_version_wrote_it(database: Database) -> bool:
    """Not a row, and not a cell that it knew, has changed."""
    for name, rows in OLD.items():
        now = rows_of(database, metadata.tables[name])
        columns = [column for column in rows[0] if (name, column) != ("studies", "ending")]  # converted to codes
        if [_cells(row, columns) for row in now] != [_cells(row, columns) for row in rows]:
            return False
    return True


def _cells(row: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    return {column: row[column] for column in columns}
