"""Is a database fit to work with: reachable, at the right schema, its clock near this machine's."""

import time
from collections.abc import Iterator

from sqlalchemy import make_url, select
from sqlalchemy.exc import SQLAlchemyError

from app.errors import CounterpoiseError
from app.settings import load_settings
from app.store.database import Database, open_existing
from app.store.sql.clock import database_now
from app.store.upgrade import head, require_head

FAR_APART_S = 5.0

Finding = tuple[str, str, str]  # what was looked at; ok, warning or fault; what was found and what to do


def examine(database_url: str | None) -> list[Finding]:
    """The findings on the database of this URL, else of the environment. It makes and changes nothing."""
    findings: list[Finding] = []
    try:
        database = open_existing(load_settings(database_url=database_url).database_url)
        try:
            findings += _findings(database)
        finally:
            database.close()
    except (CounterpoiseError, SQLAlchemyError) as error:
        findings.append(("database", "fault", str(error).splitlines()[0]))
    return findings


def _findings(database: Database) -> Iterator[Finding]:
    offset = clock_offset(database)
    yield "database", "ok", f"{make_url(database.url).render_as_string(hide_password=True)} is reachable"
    try:
        require_head(database)
        yield "migrations", "ok", f"at schema {head()}, as this version needs"
    except CounterpoiseError as error:
        yield "migrations", "fault", str(error)
    yield _clock_finding(offset)


def clock_offset(database: Database) -> float:
    """How many seconds the database's clock is ahead of this machine's."""
    with database.read() as connection:
        before = time.time()
        theirs = float(connection.execute(select(database_now())).scalar_one())
        return theirs - (before + time.time()) / 2


def _clock_finding(offset: float) -> Finding:
    words = f"{abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'} this machine's"
    if abs(offset) <= FAR_APART_S:
        return "clock", "ok", f"the database's is {words}"
    return (
        "clock",
        "warning",
        f"the database's is {words}; leases do not mind (they are database time), but logs will not fit together:"
        " set the clocks by NTP",
    )
