"""A database whose clock a test sets, and a lab in which time passes only as the test says."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import event
from sqlalchemy.pool import Pool

from app.service.work.expire import clean_up, expire_leases
from app.service.work.heartbeat import heartbeat
from app.store.database import Database
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.work import Job
from tests.service.lab import Lab

TICK_S = 3.0  # servers record_uptime more often than this gap is an outage

# `clock_timestamp` is looked up in this schema first: every connection to the database is deceived, and no statement
# of the product is another one.
POSTGRESQL = """
CREATE SCHEMA clock;
CREATE TABLE clock.set (ahead double precision);
INSERT INTO clock.set VALUES (0);
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS $$
  SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT ahead FROM clock.set)) $$;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = clock, pg_catalog, public', current_database()); END $$
"""


class Clock:
    """Of the database, ahead of all other clocks by as much as it was set."""

    def __init__(self, url: str) -> None:
        self.url, self.ahead_s = url, 0.0
        self.server = (
            None if url.startswith("sqlite") else psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
        )

    def step(self, by_s: float) -> None:
        self.ahead_s += by_s
        if self.server is not None:
            self.server.execute("UPDATE clock.set SET ahead = %s", [self.ahead_s])

    def deceive(self, connection: Any, _record: Any) -> None:
        """SQLite's clock is its process's: a function of the same name comes before its own."""
        connection.create_function("julianday", 1, lambda _now: 2440587.5 + (time.time() + self.ahead_s) / 86400.0)


@contextmanager
def deceived(url: str) -> Iterator[Clock]:
    """Begin before the database is opened."""
    clock = Clock(url)
    if clock.server is not None:
        with clock.server as server:
            server.execute(POSTGRESQL)
            yield clock
        return
    event.listen(Pool, "connect", clock.deceive)
    try:
        yield clock
    finally:
        event.remove(Pool, "connect", clock.deceive)


class World(Lab):
    """A lab with server, planner's housekeeping and living workers, in the time of its clock."""

    def __init__(self, database: Database, clock: Clock, **changes: Any) -> None:
        self.clock = clock
        super().__init__(database, **changes)

    def pass_s(self, seconds: float, *alive: Job, served: bool = True) -> None:
        """Time passes. Who is alive gives signs of it, if there is a server that hears them."""
        for _ in range(round(seconds / TICK_S)):
            self.clock.step(TICK_S)
            self.keep_house(*alive, served=served)

    def keep_house(self, *alive: Job, served: bool = True) -> None:
        clean_up(self.database)
        expire_leases(self.database)
        if served:
            self.database.write(record_uptime)
            if alive:
                self.signs_of_life(*alive)

    def signs_of_life(self, *alive: Job) -> None:
        answers = heartbeat(self.database, [job.lease for job in alive])
        assert [(one.cancel, one.reason) for one in answers] == [(False, None)] * len(alive)
