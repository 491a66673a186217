"""A database as the first version left it, with studies in every state."""

from alembic import command

from app.store.database import Database
from app.store.tables import metadata
from app.store.upgrade import migration_config
from tests.store.table_rows import rows_of
from tests.store.test_old_data import OLD, RENAMED, converted, fill

FIRST_REVISION = "0001"


def write_first_version(database: Database) -> None:
    database.migrate(
        lambda connection: command.upgrade(migration_config(connection), FIRST_REVISION)
    )
    database.write(fill)


def check_first_version_kept(database: Database) -> None:
    """Every row and cell of the first version is what it was, or what a migration makes
    of it.
    """
    for name, old_rows in OLD.items():
        rows = rows_of(database, metadata.tables[RENAMED.get(name, name)])
        for row, old_row in zip(rows, old_rows, strict=True):
            kept = {column: row[column] for column in old_row}
            assert kept == converted(name, old_row), name
