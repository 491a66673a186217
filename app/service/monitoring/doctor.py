"""Checks of a database: reachable, at the right schema, its clock near this machine's."""

from collections.abc import Iterator

from app.errors import CounterpoiseError
from app.settings import load_settings
from app.store.database import Database, open_existing
from app.store.sql.clock import clock_offset
from app.store.upgrade import head, require_head

FAR_APART_S = 5.0

# What was checked; ok, warning or fault; what was found and what to do
Finding = tuple[str, str, str]


def examine(database_url: str | None) -> list[Finding]:
    """The findings on the database of this URL, else of the environment.

    Creates and changes nothing.
    """
    findings: list[Finding] = []
    try:
        database = open_existing(load_settings(database_url=database_url).database_url)
        try:
            findings += _findings(database)
        finally:
            database.close()
    except CounterpoiseError as error:
        findings.append(("database", "fault", str(error).splitlines()[0]))
    return findings


def _findings(database: Database) -> Iterator[Finding]:
    with database.read() as connection:
        offset_s = clock_offset(connection)
    yield "database", "ok", f"{database.shown_url} is reachable"
    try:
        require_head(database)
        yield "migrations", "ok", f"at schema {head()}, as this version needs"
    except CounterpoiseError as error:
        yield "migrations", "fault", str(error)
    yield _clock_finding(offset_s)


def _clock_finding(offset_s: float) -> Finding:
    difference = f"{abs(offset_s):.1f} s {'ahead of' if offset_s > 0 else 'behind'} this machine's"
    if abs(offset_s) <= FAR_APART_S:
        return "clock", "ok", f"the database's is {difference}"
    return (
        "clock",
        "warning",
        f"the database's is {difference}; leases are not affected (they use database time), but log times differ:"
        " set the clocks by NTP",
    )
