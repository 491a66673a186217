"""The rows of a table, as dictionaries."""

from typing import Any

from sqlalchemy import Table, select

from app.store.database import Database


def rows_of(database: Database, table: Table) -> list[dict[str, Any]]:
    """In the order of the primary key."""
    query = select(table).order_by(*table.primary_key)
    with database.read() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]
