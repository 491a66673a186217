"""What a refusal is: a problem that says what to do, and nothing changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from httpx2 import Response
from sqlalchemy import select

from app.store.database import Database
from app.store.tables import metadata

OF_SERVERS = ("pulse", "feed")  # what they write by themselves, whoever asks


def everything(database: Database) -> dict[str, list[Any]]:
    """All rows of all tables."""
    tables = [table for table in metadata.sorted_tables if table.name not in OF_SERVERS]
    with database.read() as connection:
        rows = {table.name: connection.execute(select(table).order_by(*table.primary_key)) for table in tables}
        return {name: [tuple(row) for row in found] for name, found in rows.items()}


@contextmanager
def untouched(database: Database) -> Iterator[None]:
    before = everything(database)
    yield
    assert everything(database) == before


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
