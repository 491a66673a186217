"""Refuses a connection pooler that gives each transaction another session of
PostgreSQL.
"""

from contextlib import ExitStack

import psycopg

from app.errors import DatabaseUnusable
from app.store.database import Database
from app.store.sql.postgresql import libpq_url

CONNECTIONS = 3


def require_sessions(database: Database) -> None:
    """Session settings, prepared statements and LISTEN need one session for the whole
    connection.

    A transaction pooler gives the session of an idle connection to another one: then
    two connections report the same session, or one connection two.
    """
    if database.is_sqlite:
        return
    url = libpq_url(database.url)
    with ExitStack() as stack:
        sessions: list[int] = []
        connections: list[psycopg.Connection] = []
        try:
            for _ in range(CONNECTIONS):
                connection = psycopg.connect(url)
                connections.append(stack.enter_context(connection))
                sessions.append(_session(connection))
                connection.rollback()
            later = [_session(connection) for connection in connections]
        except psycopg.Error as error:
            raise DatabaseUnusable(
                f"the database {database.shown_url} cannot be used now: {error}"
            ) from None
    if len(set(sessions)) < CONNECTIONS or later != sessions:
        raise DatabaseUnusable(
            "the connection pooler gives each transaction another session of PostgreSQL;"
            " set pool_mode = session (PgBouncer), or connect to PostgreSQL directly"
        )


def _session(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return int(row[0]) if row else 0
