"""Upgrade a database to the newest schema, and check its schema."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from app.errors import DatabaseBehind
from app.fault_points import point
from app.store.database import Database
from app.store.tables import metadata

_HERE = Path(__file__).parent
# An installed wheel has the migrations beside this file; in a checkout they are the
# top-level folder.
MIGRATIONS = (
    _HERE / "migrations"
    if (_HERE / "migrations").is_dir()
    else _HERE.parents[1] / "alembic"
)
_UPGRADE_LOCK = 0x434F554E  # an arbitrary number, the same in every process


def migration_config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@cache
def head() -> str:
    revision = ScriptDirectory.from_config(migration_config()).get_current_head()
    assert revision is not None  # noqa: S101  (the project ships its migrations)
    return revision


def revision(database: Database) -> str | None:
    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def upgrade(database: Database) -> tuple[str | None, str]:
    """Upgrade to head in one transaction.

    Of several processes that start at once, one upgrades.

    Returns the schema before and after.
    """

    def work(connection: Connection) -> tuple[str | None, str]:
        if not database.is_sqlite:  # BEGIN IMMEDIATE is SQLite's lock
            connection.execute(
                text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK}
            )
        before = MigrationContext.configure(connection).get_current_revision()
        _refuse_newer(before)
        command.upgrade(migration_config(connection), "head")
        point("upgrade.written")
        return before, head()

    return database.migrate(work)


def _refuse_newer(current: str | None) -> None:
    known = {
        script.revision
        for script in ScriptDirectory.from_config(migration_config()).walk_revisions()
    }
    if current is not None and current not in known:
        raise DatabaseBehind(
            f"the database is at schema {current}, which this version ({head()}) does not know:"
            " it was made by a newer Counterpoise; upgrade the program"
        )


def require_head(database: Database) -> None:
    current = revision(database)
    if current != head():
        _refuse_newer(current)
        raise DatabaseBehind(
            f"the database is at schema {current or 'none'}, this version needs {head()}; run: counterpoise migrate"
        )


def drift(database: Database) -> list[object]:
    """Differences between the database and the tables in the code."""
    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        return list(compare_metadata(context, metadata))
