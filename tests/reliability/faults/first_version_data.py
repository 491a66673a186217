"""A database as the first version left it, with studies in every state."""

from alembic import command

from app.store.database import Database
from app.store.tables import metadata
from app.store.upgrade import migration_config
from tests.store.test_old_data import ENDINGS, OLD, _fill, rows_of

FIRST_REVISION = "0001"


def write_first_version(database: Database) -> None:
    database.migrate(lambda connection: command.upgrade(migration_config(connection), FIRST_REVISION))
    database.write(_fill)


def check_first_version_kept(database: Database) -> None:
    """Every row and cell of the first version is unchanged; only the endings of studies have become codes."""
    for name, rows in OLD.items():
        kept = [{column: row[column] for column in rows[0]} for row in rows_of(database, metadata.tables[name])]
        if name == "studies":
            rows = [row | {"ending": ENDINGS[row["ending"]]} for row in rows]
        assert kept == rows, name
