"""SQLite engines: WAL, full durability, one writer."""

import os
import sqlite3
import time
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

from app.errors import DatabaseUnusable

OLDEST_SQLITE = (3, 35, 0)  # UPDATE … RETURNING
BUSY_S = 30.0
RETRY_S = 0.001


def require_recent_sqlite() -> None:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise DatabaseUnusable(
            f"SQLite {sqlite3.sqlite_version} is too old; 3.35 or newer is needed (or use PostgreSQL)"
        )


def sqlite_engine(url: str, *, pool_size: int, writes: bool) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=0,
        hide_parameters=True,
        connect_args={
            "check_same_thread": False,
            "timeout": 0.0 if writes else BUSY_S,
            "isolation_level": None,
        },
    )

    @event.listens_for(engine, "do_connect")
    def _create(_dialect: Any, _record: Any, arguments: Any, _options: Any) -> None:
        if writes:
            _create_private_file(arguments[0])

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: Any) -> None:
        if writes:
            # Several processes may create a new file
            _execute_when_free(connection, "PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # The driver would begin late and deferred: two writers could then both read
        # before either writes.
        if writes:
            _execute_when_free(
                connection.connection.driver_connection, "BEGIN IMMEDIATE"
            )
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _create_private_file(path: str) -> None:
    """A new file is for its owner only, and so are the files that SQLite makes beside
    it; the rights of an existing one stay.

    An existing file is never opened here: closing it would release the locks that other
    connections of this process hold, and another process would delete the log that
    they read.
    """
    with suppress(OSError):  # SQLite reports the reason
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _execute_when_free(connection: Any, statement: str) -> None:
    """Execute this as soon as no other process writes.

    SQLite's own busy timeout does not cover the switch to WAL, and polls up to 100 ms
    apart, while other processes write for a few milliseconds.
    """
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_S)
        else:
            return
