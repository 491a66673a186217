"""A database whose clock a test sets."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import event
from sqlalchemy.pool import Pool

UNIX_EPOCH_DAYS = 2440587.5  # as a Julian date
DAY_S = 86400.0
# `clock_timestamp` is looked up in this schema first, for every connection to the
# database; the statements of the server are the same.
POSTGRESQL = """
CREATE SCHEMA clock;
CREATE TABLE clock.set (ahead double precision);
INSERT INTO clock.set VALUES (0);
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS $$
  SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT ahead FROM clock.set)) $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = clock, pg_catalog, public', current_database()); END $$
"""


class DatabaseClock:
    """How far the database's clock is ahead of all others."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def advance(self, seconds: float) -> None:
        self.ahead_s += seconds


class SQLiteClock(DatabaseClock):
    def replace_function(self, connection: Any, _record: Any) -> None:
        """SQLite reads its process's clock; a function of the same name takes
        precedence over its own.
        """
        connection.create_function("julianday", 1, self._julian_day)

    def _julian_day(self, _now: str) -> float:
        return UNIX_EPOCH_DAYS + (time.time() + self.ahead_s) / DAY_S


class PostgreSQLClock(DatabaseClock):
    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        super().__init__()
        self._connection = connection
        connection.execute(POSTGRESQL)

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        self._connection.execute("UPDATE clock.set SET ahead = %s", [self.ahead_s])


@contextmanager
def settable_clock(url: str) -> Iterator[DatabaseClock]:
    """Enter it before the database is opened."""
    if not url.startswith("sqlite"):
        with psycopg.connect(
            url.replace("+psycopg", ""), autocommit=True
        ) as connection:
            yield PostgreSQLClock(connection)
        return
    clock = SQLiteClock()
    event.listen(Pool, "connect", clock.replace_function)
    try:
        yield clock
    finally:
        event.remove(Pool, "connect", clock.replace_function)
