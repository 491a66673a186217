"""Alembic's entry: on a connection handed over by `app.store.upgrade`, or on the
configured database.
"""

from alembic import context
from sqlalchemy import Connection

from app.settings import load_settings
from app.store.database import Database
from app.store.tables import metadata


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    database = Database(load_settings().database_url)
    database.write(migrate)
    database.close()
