"""Brings the database to the schema that this version needs."""

from contextlib import closing

from app.settings import Settings
from app.store.database import Database
from app.store.sessions import require_sessions
from app.store.upgrade import require_head, upgrade


def migrate(settings: Settings) -> tuple[str | None, str]:
    """Upgrade the database; returns its schema before and after."""
    with closing(Database(settings.database_url)) as database:
        require_sessions(database)
        return upgrade(database)


def prepare_database(settings: Settings) -> None:
    """Upgrade SQLite at every start.

    PostgreSQL is shared, so an operator runs `counterpoise migrate`.
    """
    with closing(Database(settings.database_url)) as database:
        if database.is_sqlite:
            upgrade(database)
        else:
            require_sessions(database)
            require_head(database)
