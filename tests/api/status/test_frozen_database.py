"""Health checks respond although the database does not."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from fastapi.testclient import TestClient

from app.store.sql.postgresql import TIME_OUTS, with_time_outs
from tests.api.wing import check_problem

PATIENCE_S = 30.0  # of a check of a database that works
THREADS = 50  # more than the server has for requests


@pytest.fixture
def backend() -> str:
    return "postgresql"  # readers of SQLite wait for nothing


@contextmanager
def frozen(database_url: str) -> Iterator[None]:
    """Until the end, no query returns."""
    url = database_url.replace("+psycopg", "")
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE studies, alembic_version")
        yield
        connection.rollback()


def test_health_checks_respond_while_all_queries_hang(
    client: TestClient, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.status.server_metrics.POLL_S", 0.0)
    monkeypatch.setattr("app.api.status.bounded_poll.WAIT_S", PATIENCE_S)
    assert "\ncounterpoise_database_up 1.0\n" in client.get("/metrics").text
    with ThreadPoolExecutor(THREADS) as executor:
        with frozen(database_url), monkeypatch.context() as while_frozen:
            while_frozen.setattr("app.api.status.bounded_poll.WAIT_S", 0.2)
            hanging = [
                executor.submit(client.get, "/studies/wing") for _ in range(THREADS)
            ]
            for _ in range(2):
                check_problem(client.get("/readyz"), 503, "database-unusable")
                assert "\ncounterpoise_database_up 0.0\n" in client.get("/metrics").text
                assert client.get("/healthz").status_code == 200
        assert {request.result().status_code for request in hanging} == {404}
    assert client.get("/readyz").status_code == 200
    assert "\ncounterpoise_database_up 1.0\n" in client.get("/metrics").text


def test_connections_have_time_outs_unless_the_url_sets_them() -> None:
    url = with_time_outs("postgresql+psycopg://a:b@host/d?connect_timeout=9")
    assert url.query == {**TIME_OUTS, "connect_timeout": "9"}
    assert url.password == "b"
