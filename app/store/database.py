"""A database and how to work with it: `read` for queries, `write` for one transaction.

SQLite: one writer thread per process and BEGIN IMMEDIATE, so that writers queue up here, in order, instead of
sleeping on the busy timeout; readers see a snapshot (WAL) and never wait. PostgreSQL: a pool; any thread writes.
"""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import QueuePool

from app.errors import DatabaseUnusable

T = TypeVar("T")
OLDEST_SQLITE = (3, 35, 0)  # UPDATE … RETURNING
BUSY_MS = 30_000


class Database:
    """Made once per process from a URL; `close` it at the end."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self._writer: ThreadPoolExecutor | None = None
        if self.is_sqlite:
            if sqlite3.sqlite_version_info < OLDEST_SQLITE:
                raise DatabaseUnusable(
                    f"SQLite {sqlite3.sqlite_version} is too old; 3.35 or newer is needed (or use PostgreSQL)"
                )
            self._reading = _sqlite_engine(url, begin="BEGIN", pool_size=pool_size, query_only=True)
            self._writing = _sqlite_engine(url, begin="BEGIN IMMEDIATE", pool_size=1, query_only=False)
            self._writer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        else:
            self._reading = self._writing = create_engine(
                url, pool_size=pool_size, max_overflow=0, pool_pre_ping=True, pool_timeout=30
            )

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._connect(self._reading) as connection:
            yield connection

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction; when this returns, what it did survives a power cut."""
        return self._writer.submit(self._transact, work).result() if self._writer else self._transact(work)

    def _transact(self, work: Callable[[Connection], T]) -> T:
        with self._connect(self._writing) as connection:
            return work(connection)

    @contextmanager
    def _connect(self, engine: Engine) -> Iterator[Connection]:
        connection = open_connection(engine)
        with connection, connection.begin():
            yield connection

    def close(self) -> None:
        if self._writer:
            self._writer.shutdown()
        self._writing.dispose()
        self._reading.dispose()


def open_connection(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except OperationalError as error:
        reason = str(error.orig).strip().splitlines()[0]
        where = engine.url.render_as_string(hide_password=True)
        raise DatabaseUnusable(f"cannot open the database {where}: {reason}") from error


def _sqlite_engine(url: str, *, begin: str, pool_size: int, query_only: bool) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=0,
        connect_args={"check_same_thread": False, "timeout": BUSY_MS / 1000, "isolation_level": None},
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA query_only = {'ON' if query_only else 'OFF'}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # The driver would begin late and deferred: two writers could then both read before either writes.
        connection.execute(text(begin))

    return engine
