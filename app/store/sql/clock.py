"""Database time and lease tokens: leases use no other clock and no other source of
tokens.

Worker and server clocks may be hours apart; every deadline is written and compared by
the database.
"""

import time
from typing import Any

from sqlalchemy import Connection, Double, String, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class database_now(FunctionElement[float]):  # noqa: N801  (reads as a function in queries)
    """Seconds since 1970 by the database's clock."""

    type = Double()
    inherit_cache = True


@compiles(database_now, "sqlite")
def _sqlite_now(_element: database_now, _compiler: SQLCompiler, **_kw: Any) -> str:
    # unixepoch('subsec') is NULL before SQLite 3.42; julianday is good to 0.05 ms
    # everywhere.
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_now, "postgresql")
def _postgresql_now(_element: database_now, _compiler: SQLCompiler, **_kw: Any) -> str:
    # now() would be the transaction's start: too early after a wait for a lock.
    return "extract(epoch from clock_timestamp())::float8"


class new_lease(FunctionElement[str]):  # noqa: N801
    """A fresh random token for every row it is evaluated on."""

    type = String(32)
    inherit_cache = True


@compiles(new_lease, "sqlite")
def _sqlite_lease(_element: new_lease, _compiler: SQLCompiler, **_kw: Any) -> str:
    return "lower(hex(randomblob(16)))"


@compiles(new_lease, "postgresql")
def _postgresql_lease(_element: new_lease, _compiler: SQLCompiler, **_kw: Any) -> str:
    return "replace(gen_random_uuid()::text, '-', '')"


def database_time(connection: Connection) -> float:
    return float(connection.execute(select(database_now())).scalar_one())


def clock_offset(connection: Connection) -> float:
    """How many seconds the database's clock is ahead of this machine's."""
    before = time.time()
    return database_time(connection) - (before + time.time()) / 2
