"""The rows of a database before and after: whether anything has changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, create_engine, select, text

from app.store.database import Database
from app.store.tables import attempts, feed, jobs, metadata, server_uptime, studies

Rows = dict[str, list[Any]]  # by table
WRITTEN_BY_SERVERS = (feed, server_uptime)  # without any request
TABLES = [table for table in metadata.sorted_tables if table not in WRITTEN_BY_SERVERS]


def all_rows(database: Database, study: str | None = None) -> Rows:
    """All rows of all tables, or those of one study."""
    with database.read() as connection:
        return read_rows(connection, study)


def read_rows(connection: Connection, study: str | None = None) -> Rows:
    rows: Rows = {}
    for table in TABLES:
        query = select(table).order_by(*table.primary_key)
        if study is not None:
            condition = _of_study(table, study)
            if condition is None:
                continue
            query = query.where(condition)
        rows[table.name] = [tuple(row) for row in connection.execute(query)]
    return rows


def _of_study(table: Table, name: str) -> ColumnElement[bool] | None:
    """Which rows belong to the study; None if the table has no studies."""
    ids = select(studies.c.id).where(studies.c.name == name)
    if table is studies:
        return studies.c.name == name
    if table is attempts:
        return attempts.c.job_id.in_(select(jobs.c.id).where(jobs.c.study_id.in_(ids)))
    return table.c.study_id.in_(ids) if "study_id" in table.c else None


@contextmanager
def unchanged(database: Database, study: str | None = None) -> Iterator[None]:
    """No row changes in this block, or none of one study."""
    before = all_rows(database, study)
    assert study is None or len(before["studies"]) == 1
    yield
    assert all_rows(database, study) == before


class ChangeDetector:
    """Reports which tables have changed since the last call; cheap while there were no
    writes.
    """

    def __init__(self, url: str) -> None:
        is_sqlite = url.startswith("sqlite")
        options = {"check_same_thread": False} if is_sqlite else {}
        engine = create_engine(url, isolation_level="AUTOCOMMIT", connect_args=options)
        self._connection = engine.connect()
        version = (
            "PRAGMA data_version"
            if is_sqlite
            else "SELECT pg_snapshot_xmax(pg_current_snapshot())"
        )
        self._version_query = text(version)
        self._version = self._read_version()
        self._rows = read_rows(self._connection)

    def _read_version(self) -> Any:
        return self._connection.execute(self._version_query).scalar_one()

    def changed_tables(self) -> list[str]:
        version = self._read_version()
        if version == self._version:
            return []
        before = self._rows
        self._version = version
        self._rows = read_rows(self._connection)
        return [name for name in before if self._rows[name] != before[name]]
