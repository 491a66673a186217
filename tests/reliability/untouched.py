"""What a refusal is: a problem that says what to do, and nothing changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from httpx2 import Response
from sqlalchemy import Connection, Table, create_engine, select, text

from app.store.database import Database
from app.store.tables import attempts, jobs, metadata, studies

OF_SERVERS = ("pulse", "feed")  # what they write by themselves, whoever asks
TABLES = [table for table in metadata.sorted_tables if table.name not in OF_SERVERS]


def everything(database: Database, study: str | None = None) -> dict[str, list[Any]]:
    """All rows of all tables, or those of one study."""
    with database.read() as connection:
        return rows(connection, study)


def rows(connection: Connection, study: str | None = None) -> dict[str, list[Any]]:
    found = {}
    for table in TABLES:
        query = select(table).order_by(*table.primary_key)
        if study is not None:
            if (own := _of_study(table, study)) is None:
                continue
            query = query.where(own)
        found[table.name] = [tuple(row) for row in connection.execute(query)]
    return found


def _of_study(table: Table, name: str) -> Any:
    """Which rows are a study's; None: the table is not about studies."""
    number = select(studies.c.id).where(studies.c.name == name)
    if table is studies:
        return studies.c.name == name
    if table is attempts:
        return attempts.c.job_id.in_(select(jobs.c.id).where(jobs.c.study_id.in_(number)))
    return table.c.study_id.in_(number) if "study_id" in table.c else None


@contextmanager
def untouched(database: Database, study: str | None = None) -> Iterator[None]:
    before = everything(database, study)
    assert study is None or len(before["studies"]) == 1
    yield
    assert everything(database, study) == before


class Witness:
    """Says what has changed since it looked last. To look costs little while nobody has written."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(url, isolation_level="AUTOCOMMIT", connect_args=_any_thread(url))
        self._connection = self._engine.connect()
        asks = "PRAGMA data_version" if url.startswith("sqlite") else "SELECT pg_snapshot_xmax(pg_current_snapshot())"
        self._asks = text(asks)
        self._version, self._rows = self._look()

    def _look(self) -> tuple[Any, dict[str, list[Any]]]:
        return self._connection.execute(self._asks).scalar_one(), rows(self._connection)

    def changed(self) -> list[str]:
        """Names of tables."""
        if self._connection.execute(self._asks).scalar_one() == self._version:
            return []
        before = self._rows
        self._version, self._rows = self._look()
        return [name for name in before if self._rows[name] != before[name]]


def _any_thread(url: str) -> dict[str, Any]:
    return {"check_same_thread": False} if url.startswith("sqlite") else {}


def check_refusal(answer: Response) -> dict[str, Any]:
    """Never a 5xx; says what, where and what to do. Answers the problem."""
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["type"].startswith("urn:counterpoise:problem:")
    assert len(body["detail"]) > 20
    for fault in body["errors"]:
        assert fault["pointer"].startswith(("#", "line ", "query parameter", "path parameter")), fault
        assert fault["detail"]
    if answer.status_code == 422 and "each" in body["detail"]:
        assert body["errors"]
    return body
