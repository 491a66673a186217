"""A client without access makes the server read no body."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import Message

from app.api.security.authentication import OPEN_PATHS
from app.main import create_app
from app.settings import load_settings
from tests.api.security.test_access import OPEN, TABLE, TOKENS
from tests.api.wing import LOCAL, check_problem

BODY_TYPES = ("application/json", "application/json; charset=utf-8", "text/csv")
GUARDED = sorted(
    path.format(name="wing", job=1, sample=1)
    for (method, path), access in TABLE.items()
    if method == "POST" and access.roles is not OPEN
)


@pytest.fixture
def backend() -> str:
    return "sqlite"  # no query is made


@pytest.fixture
def app(database_url: str) -> Iterator[FastAPI]:
    settings = load_settings(database_url=database_url, admin_tokens=TOKENS["admin"])
    app = create_app(settings)
    with TestClient(app, LOCAL):  # starts and stops it
        yield app


def post(app: FastAPI, path: str, headers: dict[str, str]) -> tuple[int, int]:
    """The status of the response, and how often the server asked for the body."""
    reads = 0
    statuses: list[int] = []

    async def receive() -> Message:
        nonlocal reads
        reads += 1
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in headers.items()
        ],
        "client": ("192.0.2.1", 1),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }
    asyncio.run(app(scope, receive, send))
    (status,) = statuses
    return status, reads


@pytest.mark.parametrize("body_type", BODY_TYPES)
def test_no_body_is_read_before_the_token_is_checked(
    app: FastAPI, body_type: str
) -> None:
    for path in (*GUARDED, "/no/such/path"):
        headers = {"Content-Type": body_type}
        assert post(app, path, headers) == (401, 0), path
        headers["Authorization"] = "Bearer wrong-token-wrong"
        assert post(app, path, headers) == (401, 0), path


def test_without_tokens_no_body_of_another_origin_is_read(database_url: str) -> None:
    app = create_app(load_settings(database_url=database_url))
    with TestClient(app, LOCAL):
        for path in GUARDED:
            headers = {"Origin": "https://evil.example"}
            assert post(app, path, headers) == (403, 0), path


def test_open_paths_are_those_of_the_table() -> None:
    paths = {path for (_, path), access in TABLE.items() if access.roles is OPEN}
    assets = {path for path in paths if path.startswith("/assets/")}
    assert paths - assets == set(OPEN_PATHS)


def test_a_path_with_a_slash_too_many_is_not_redirected(app: FastAPI) -> None:
    """A redirect would send the body, and a proxy's host, once more."""
    client = TestClient(app, LOCAL, follow_redirects=False)
    headers = {"Authorization": f"Bearer {TOKENS['admin']}"}
    check_problem(client.get("/studies/", headers=headers), 404, "not-found")
