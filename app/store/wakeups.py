"""Wake-ups: notice within a moment that another process made jobs ready or a step due.

PostgreSQL notifies listeners; SQLite has a counter that changes with every commit of
another connection.
"""

import sqlite3
import threading
from collections.abc import Callable

import psycopg
from sqlalchemy import Connection, text

from app.store.database import Database
from app.store.sql.postgresql import libpq_url

CHANNEL = "counterpoise"
POLL_S = 0.05
RECONNECT_S = 1.0


def notify(connection: Connection) -> None:
    """Notify listeners when this transaction commits.

    Not for every tell: for new jobs and due steps.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_notify(:channel, '')"), {"channel": CHANNEL})


def watch(database: Database, wake: Callable[[], None], stop: threading.Event) -> None:
    """Call `wake` whenever something may have changed, until `stop`; runs in a thread
    of its own.
    """
    follow = _follow_sqlite if database.is_sqlite else _follow_postgresql
    while not stop.is_set():
        try:
            follow(database, wake, stop)
        except (psycopg.Error, sqlite3.Error, OSError):
            wake()  # a change may have been missed
            stop.wait(RECONNECT_S)


def _follow_sqlite(
    database: Database, wake: Callable[[], None], stop: threading.Event
) -> None:
    with database.raw() as connection:
        seen = None
        while not stop.wait(POLL_S):
            version = connection.execute("PRAGMA data_version").fetchone()
            if version != seen:
                seen = version
                wake()


def _follow_postgresql(
    database: Database, wake: Callable[[], None], stop: threading.Event
) -> None:
    with psycopg.connect(libpq_url(database.url), autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        wake()
        while not stop.is_set():
            for _ in connection.notifies(timeout=0.1, stop_after=1):
                wake()
