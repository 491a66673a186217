"""An application on either database, without a planner: tests execute steps themselves."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import load_settings
from app.store.database import Database
from tests.api.wing import LOCAL, Wing


@pytest.fixture
def client(database_url: str) -> Iterator[TestClient]:
    app = create_app(load_settings(database_url=database_url))
    with TestClient(app, LOCAL, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def wing(client: TestClient, database: Database) -> Wing:
    """A study with its initial design."""
    wing = Wing(client, database)
    assert client.post("/studies", json=wing.spec).status_code == 201
    wing.plan()
    return wing
