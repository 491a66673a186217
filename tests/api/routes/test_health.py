"""Health checks."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.main import create_app
from app.settings import load_settings
from app.store.database import Database
from tests.api.wing import LOCAL, check_problem


def test_alive_and_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_probes_may_use_head(client: TestClient) -> None:
    for path in ("/healthz", "/readyz"):
        response = client.head(path)
        assert (response.status_code, response.content) == (200, b"")


@pytest.mark.own_database
def test_not_ready_with_another_schema(client: TestClient, database: Database) -> None:
    database.write(
        lambda connection: connection.execute(text("DELETE FROM alembic_version"))
    )
    problem = check_problem(client.get("/readyz"), 503, "database-behind")
    assert "counterpoise migrate" in problem["detail"]
    assert client.get("/healthz").status_code == 200


def test_not_ready_without_the_database(tmp_path: Path) -> None:
    app = create_app(load_settings(database_url=f"sqlite:///{tmp_path}/nowhere/x.db"))
    with TestClient(app, LOCAL) as client:
        check_problem(client.get("/readyz"), 503, "database-unusable")
