"""A database and how to work with it: `read` for queries, `write` for one transaction.

SQLite: one writer thread per process and BEGIN IMMEDIATE, so that writers queue here,
in order, instead of sleeping on the busy timeout; readers see a snapshot (WAL) and
never wait. PostgreSQL: a pool; any thread writes.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, event, make_url, text
from sqlalchemy.exc import DatabaseError, DataError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.errors import DatabaseUnusable
from app.store.sql.postgresql import is_limited, postgresql_engine, unlimit
from app.store.sql.sqlite import require_recent_sqlite, sqlite_engine

__all__ = ["Connection", "Database", "open_existing"]

P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """Made once per process from a URL; `close` it at the end."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        # SQLite's one thread that writes
        self._writer: ThreadPoolExecutor | None = None
        self._writer_thread = 0
        self._is_writing = False
        if self.is_sqlite:
            require_recent_sqlite()
            self._reading = sqlite_engine(url, pool_size=pool_size, writes=False)
            self._writing = sqlite_engine(url, pool_size=1, writes=True)
            self._writer = ThreadPoolExecutor(
                1, thread_name_prefix="sqlite-writer", initializer=self._note_writer
            )
        else:
            self._reading = self._writing = postgresql_engine(url, pool_size)

    @property
    def shown_url(self) -> str:
        """The URL without its password."""
        return make_url(self.url).render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._connect(self._reading) as connection:
            if is_limited(connection):
                unlimit(connection)
            yield connection

    def write(
        self,
        function: Callable[Concatenate[Connection, P], T],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run a function in one transaction; when this returns, what it wrote survives
        a power cut.
        """
        if self._writer is None or threading.get_ident() == self._writer_thread:
            return self._transact(function, *arguments, **options)
        transact = partial(self._transact, function, *arguments, **options)
        return self._writer.submit(transact).result()

    def in_writer_thread(
        self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs
    ) -> Awaitable[T]:
        """For coroutines: run a function that calls `write` where it does not have to
        change threads for it: with SQLite in the one thread that writes, with PostgreSQL
        in any.
        """
        return asyncio.get_running_loop().run_in_executor(
            self._writer, partial(function, *arguments, **options)
        )

    def _note_writer(self) -> None:
        self._writer_thread = threading.get_ident()

    def _transact(
        self,
        function: Callable[Concatenate[Connection, P], T],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        if self._is_writing:
            raise RuntimeError("a write inside a write would wait for itself")
        self._is_writing = self._writer is not None
        try:
            with self._connect(self._writing) as connection:
                return function(connection, *arguments, **options)
        finally:
            self._is_writing = False

    @contextmanager
    def _connect(self, engine: Engine) -> Iterator[Connection]:
        try:
            with engine.connect() as connection, connection.begin():
                yield connection
        # Unreachable, full, locked, no rights: the transaction is rolled back.
        except (DatabaseError, sqlite3.DatabaseError, PoolTimeout) as error:
            if isinstance(error, IntegrityError | DataError):
                raise  # a fault of ours, or a race that the caller handles
            reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
            raise DatabaseUnusable(
                f"the database {_describe(engine.url)} cannot be used now: {reason}"
            ) from error

    def migrate(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, but a table may be rebuilt: SQLite would treat that as a
        deletion and follow every cascade.
        """
        if not self.is_sqlite:
            return self.write(work)
        engine = sqlite_engine(self.url, pool_size=1, writes=True)
        event.listen(
            engine,
            "connect",
            lambda connection, _: connection.execute("PRAGMA foreign_keys = OFF"),
        )
        try:
            with self._connect(engine) as connection:
                result = work(connection)
                orphans = connection.execute(text("PRAGMA foreign_key_check")).all()
                if orphans:
                    raise DatabaseUnusable(
                        f"the upgrade would leave {len(orphans)} rows without their parents; nothing changed"
                    )
                return result
        finally:
            engine.dispose()

    @contextmanager
    def raw(self) -> Iterator[sqlite3.Connection]:
        """A SQLite connection outside the pool and outside transactions, for `PRAGMA
        data_version`.
        """
        connection = sqlite3.connect(
            self._reading.url.database or "",
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            yield connection
        finally:
            connection.close()

    def close(self) -> None:
        if self._writer:
            self._writer.shutdown()
        self._writing.dispose()
        self._reading.dispose()


def open_existing(url: str) -> Database:
    """For programs that only read: creates no file."""
    parsed = make_url(url)
    is_sqlite = parsed.drivername.startswith("sqlite")
    # Opening it would create it
    if is_sqlite and not Path(parsed.database or "").is_file():
        raise DatabaseUnusable(
            f"there is no file {parsed.database} yet; `counterpoise serve` or `counterpoise migrate` creates it"
        )
    return Database(url, pool_size=1)


def _describe(url: URL) -> str:
    """Which database it is, without anything that may be a secret."""
    if url.drivername.startswith("sqlite"):
        return str(url.database)
    return f"{url.database} on {url.host or 'local socket'}"
