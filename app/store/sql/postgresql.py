"""PostgreSQL engines: durable commits, plans that are made once, no transaction left
open by a frozen server.
"""

import select
import time
from typing import Any

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

# A server that stops in the middle of a write would hold its locks, and stop all
# others.
_LIMIT_IDLE_TRANSACTIONS = (
    "SELECT set_config('idle_in_transaction_session_timeout', '30s', false)"
    " WHERE current_setting('idle_in_transaction_session_timeout') = '0'"
)
# Acknowledged tells survive a power cut, also where the server's default is weaker;
# stronger settings stay.
_COMMIT_DURABLY = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
# Statements are planned once for any parameters: nearly all seek a few rows by index,
# which is cheaper than PostgreSQL's default costs assume.
_PLAN_ONCE = (
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('random_page_cost', '1.1', false),"
    " set_config('jit', 'off', false)"
)
# A plan made while a table was nearly empty would scan it after it has grown, until
# PostgreSQL updates its statistics. So plans are made anew after this many seconds,
# then after twice as many, and so on.
FIRST_PLANS_S, LAST_PLANS_S = 1.0, 64.0


# Of connections, unless the URL sets them: a machine that is gone, or a firewall that
# drops packets, must not block a request for the minutes of the kernel's defaults.
TIME_OUTS = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",  # ms
}


def with_time_outs(url: str) -> URL:
    parsed = make_url(url)
    missing = {
        name: value for name, value in TIME_OUTS.items() if name not in parsed.query
    }
    return parsed.update_query_dict(missing)


def libpq_url(url: str) -> str:
    """The URL for psycopg itself: libpq does not read a `+` as a space."""
    parsed = with_time_outs(url).set(drivername="postgresql")
    address, mark, query = parsed.render_as_string(hide_password=False).partition("?")
    return address + mark + query.replace("+", "%20")


def postgresql_engine(url: str, pool_size: int) -> Engine:
    engine = create_engine(
        with_time_outs(url),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=30,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["is_limited"] = (
            connection.execute(_LIMIT_IDLE_TRANSACTIONS).rowcount > 0
        )
        connection.execute(_COMMIT_DURABLY)
        connection.execute(_PLAN_ONCE)
        record.info["plans"] = (time.monotonic(), FIRST_PLANS_S)
        connection.commit()

    @event.listens_for(engine, "checkout")
    def _check(connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
        # A server that ends a connection sends a message. Polling for it needs no round
        # trip, unlike a ping; a message that comes too late fails one transaction,
        # which the caller may repeat.
        messages = select.poll()
        try:
            messages.register(connection.fileno(), select.POLLIN)
        except psycopg.Error as error:  # closed on this side
            raise DisconnectionError from error
        if messages.poll(0):
            raise DisconnectionError  # the pool opens another one
        made_at, kept_s = record.info["plans"]
        if time.monotonic() > made_at + kept_s:
            connection.pgconn.exec_(b"DISCARD PLANS")
            record.info["plans"] = (time.monotonic(), min(2 * kept_s, LAST_PLANS_S))

    @event.listens_for(engine, "do_executemany")
    def _restart_timeout(
        cursor: Any, statement: str, parameters: Any, _context: Any
    ) -> bool:
        # psycopg ends executemany with a Flush, which stops PostgreSQL's timeout for
        # idle transactions. An empty query starts it again.
        cursor.executemany(statement, parameters)
        cursor.connection.pgconn.exec_(b"")
        return True

    return engine


def is_limited(connection: Connection) -> bool:
    """Whether we set a limit on idle transactions."""
    return bool(connection.info.get("is_limited"))


def unlimit(connection: Connection) -> None:
    """For reads: they lock nothing, and a planner may compute for long with what it
    reads.
    """
    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
