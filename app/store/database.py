"""A database and how to work with it: `read` for queries, `write` for one transaction.

SQLite: one writer thread per process and BEGIN IMMEDIATE, so that writers queue up here, in order, instead of
sleeping on the busy timeout; readers see a snapshot (WAL) and never wait. PostgreSQL: a pool; any thread writes.
"""

import select
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DatabaseError, DataError, DisconnectionError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from app.errors import DatabaseUnusable

T = TypeVar("T")
OLDEST_SQLITE = (3, 35, 0)  # UPDATE … RETURNING
BUSY_S = 30.0
LOOK_AGAIN_S = 0.001
CONNECT_S = 5
# A server that stands still or is cut off in the middle of a write holds its locks, and would stop all the others.
_ABANDON = (
    "SELECT set_config('idle_in_transaction_session_timeout', '30s', false)"
    " WHERE current_setting('idle_in_transaction_session_timeout') = '0'"
)
# What was acknowledged survives a power cut, also where the server's own default is another; stronger ones stay.
_DURABLE = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
# Statements are planned once for any parameters, not anew each time: nearly all of them seek a few rows by index, which
# is not as expensive as PostgreSQL takes it to be.
_PLAN_ONCE = (
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('random_page_cost', '1.1', false),"
    " set_config('jit', 'off', false)"
)
# But a plan that was made while a table was nearly empty would go on scanning it when it has grown, until PostgreSQL
# makes its statistics anew. So plans are made anew after so long, then after twice that, and so on.
FIRST_PLANS_S, LAST_PLANS_S = 1.0, 64.0
# Not for reads: they lock nothing, and a planner may think for long about what it reads.
_PATIENT = "SET LOCAL idle_in_transaction_session_timeout = 0"


class Database:
    """Made once per process from a URL; `close` it at the end."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self.writer: ThreadPoolExecutor | None = None  # the thread that writes, where there is but one
        self._writer_thread, self._is_writing = 0, False
        if self.is_sqlite:
            if sqlite3.sqlite_version_info < OLDEST_SQLITE:
                raise DatabaseUnusable(
                    f"SQLite {sqlite3.sqlite_version} is too old; 3.35 or newer is needed (or use PostgreSQL)"
                )
            self._reading = _sqlite_engine(url, pool_size=pool_size, writes=False)
            self._writing = _sqlite_engine(url, pool_size=1, writes=True)
            self.writer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer", initializer=self._note_writer)
        else:
            self._reading = self._writing = _postgresql_engine(url, pool_size)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._connect(self._reading) as connection:
            if connection.info.get("abandoned"):
                connection.exec_driver_sql(_PATIENT)
            yield connection

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction; when this returns, what it did survives a power cut."""
        if self.writer is None or threading.get_ident() == self._writer_thread:
            return self._transact(work)
        return self.writer.submit(self._transact, work).result()

    def _note_writer(self) -> None:
        self._writer_thread = threading.get_ident()

    def _transact(self, work: Callable[[Connection], T]) -> T:
        if self.writer is None:
            with self._connect(self._writing) as connection:
                return work(connection)
        if self._is_writing:
            raise RuntimeError("a write inside a write would wait for itself")
        self._is_writing = True
        try:
            with self._connect(self._writing) as connection:
                return work(connection)
        finally:
            self._is_writing = False

    @contextmanager
    def _connect(self, engine: Engine) -> Iterator[Connection]:
        try:
            with engine.connect() as connection, connection.begin():
                yield connection
        # Away, full, locked, no rights: what was begun is undone.
        except (DatabaseError, sqlite3.DatabaseError, PoolTimeout) as error:
            if isinstance(error, IntegrityError | DataError):
                raise  # ours to prevent, or the caller's race
            reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
            raise DatabaseUnusable(f"the database {_describe(engine.url)} cannot be used now: {reason}") from error

    def migrate(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, but a table may be rebuilt: SQLite would take that for a deletion and follow every cascade."""
        if not self.is_sqlite:
            return self.write(work)
        engine = _sqlite_engine(self.url, pool_size=1, writes=True)
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys = OFF"))

        def checked(connection: Connection) -> T:
            result = work(connection)
            orphans = connection.execute(text("PRAGMA foreign_key_check")).all()
            if orphans:
                raise DatabaseUnusable(
                    f"the upgrade would leave {len(orphans)} rows without their parents; nothing changed"
                )
            return result

        try:
            with self._connect(engine) as connection:
                return checked(connection)
        finally:
            engine.dispose()

    @contextmanager
    def raw(self) -> Iterator[sqlite3.Connection]:
        """A SQLite connection outside the pool and outside transactions, for `PRAGMA data_version`."""
        connection = sqlite3.connect(self._reading.url.database or "", isolation_level=None, check_same_thread=False)
        try:
            yield connection
        finally:
            connection.close()

    def close(self) -> None:
        if self.writer:
            self.writer.shutdown()
        self._writing.dispose()
        self._reading.dispose()


def open_existing(url: str) -> Database:
    """For those who only look: makes no file, and does not wait long for a server that is out of reach."""
    parsed = make_url(url)
    if parsed.drivername.startswith("sqlite"):
        if not Path(parsed.database or "").is_file():  # to open it would make it
            raise DatabaseUnusable(
                f"there is no file {parsed.database} yet; `counterpoise serve` or `counterpoise migrate` makes it"
            )
    elif "connect_timeout" not in parsed.query:
        parsed = parsed.update_query_dict({"connect_timeout": str(CONNECT_S)})
    return Database(parsed.render_as_string(hide_password=False), pool_size=1)


def _postgresql_engine(url: str, pool_size: int) -> Engine:
    engine = create_engine(url, pool_size=pool_size, max_overflow=0, pool_timeout=30, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["abandoned"] = connection.execute(_ABANDON).rowcount > 0
        connection.execute(_DURABLE)
        connection.execute(_PLAN_ONCE)
        record.info["plans"] = (time.monotonic(), FIRST_PLANS_S)
        connection.commit()

    @event.listens_for(engine, "checkout")
    def _look_after(connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
        # A server that ends a connection says so. To look for that costs no way to the server, as a ping would; what
        # is said too late fails one transaction, which whoever began it may repeat.
        said = select.poll()
        try:
            said.register(connection.fileno(), select.POLLIN)
        except psycopg.Error as error:  # closed on this side
            raise DisconnectionError from error
        if said.poll(0):
            raise DisconnectionError  # a new one takes its place
        made, kept_s = record.info["plans"]
        if time.monotonic() > made + kept_s:
            connection.pgconn.exec_(b"DISCARD PLANS")
            record.info["plans"] = (time.monotonic(), min(2 * kept_s, LAST_PLANS_S))

    @event.listens_for(engine, "do_executemany")
    def _arm(cursor: Any, statement: str, parameters: Any, _context: Any) -> bool:
        # psycopg ends many statements at once with a Flush, which stops PostgreSQL's clock for idle transactions.
        # An empty query starts it again.
        cursor.executemany(statement, parameters)
        cursor.connection.pgconn.exec_(b"")
        return True  # it is done

    return engine


def _sqlite_engine(url: str, *, pool_size: int, writes: bool) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"check_same_thread": False, "timeout": 0.0 if writes else BUSY_S, "isolation_level": None},
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
        if writes:
            _while_busy(connection, "PRAGMA journal_mode = WAL")  # several processes may meet a new file
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # The driver would begin late and deferred: two writers could then both read before either writes.
        if writes:
            _while_busy(connection.connection.driver_connection, "BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _while_busy(connection: Any, statement: str) -> None:
    """Execute this as soon as no other process writes.

    SQLite's own patience does not cover the switch to WAL, and looks up to 100 ms apart, when others write for a few.
    """
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_AGAIN_S)
        else:
            return


def _describe(url: URL) -> str:
    """Which database it is, without anything that might be a secret."""
    return (
        str(url.database) if url.drivername.startswith("sqlite") else f"{url.database} on {url.host or 'local socket'}"
    )
