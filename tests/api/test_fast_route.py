"""The fast routes of workers respond exactly as FastAPI's own handler does."""

import asyncio
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.wing import Wing

ASK = {"worker": "w", "studies": ["wing"], "objectives": ["mass"], "wait_s": 0}
BODIES: dict[str, bytes] = {
    "valid": json.dumps(ASK).encode(),
    "empty": b"",
    "truncated": b'{"worker": "w"',
    "not JSON": b"\xff\xfe\xfd",
    "a list": b"[]",
    "null": b"null",
    "a missing field": b"{}",
    "an unknown field": json.dumps({**ASK, "objektives": []}).encode(),
    "a wrong type": json.dumps({**ASK, "wait_s": "1"}).encode(),
    "NaN": json.dumps({**ASK, "wait_s": float("nan")}).encode(),
    "a repeated field": b'{"worker": "v", "worker": "w", "studies": ["wing"], "objectives": ["mass"], "wait_s": 0}',
    "deeply nested": b"[" * 100_000,
    "a long number": b'{"worker": ' + b"9" * 5000 + b"}",
    "half a surrogate pair": json.dumps({**ASK, "worker": "\ud800"}).encode(),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(ASK).encode(),
    "another encoding": json.dumps(ASK).encode("utf-16"),
}
# The database makes no difference
pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
FAST = "application/json"
BY_FASTAPI = "application/json; charset=utf-8"  # the fast route takes no parameters
VARYING = ("request_id", "jobs")  # fields that differ between equal requests


def respond(
    client: TestClient, path: str, body: bytes, content_type: str
) -> tuple[int, Any]:
    """The status and the body of a response, without varying fields."""
    response = client.post(path, content=body, headers={"Content-Type": content_type})
    content = response.json()
    if isinstance(content, dict):
        content = {
            name: value for name, value in content.items() if name not in VARYING
        }
    return response.status_code, content


@pytest.mark.parametrize("path", ["/ask", "/tell", "/heartbeat", "/release"])
def test_both_handlers_respond_equally(wing: Wing, path: str) -> None:
    for name, body in BODIES.items():
        fast = respond(wing.client, path, body, FAST)
        assert (name, fast) == (name, respond(wing.client, path, body, BY_FASTAPI))
        assert fast[0] == 200 or 400 <= fast[0] < 500, name


def test_valid_requests_do_not_reach_fastapis_handler(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above compares two different handlers."""
    solved: list[str] = []

    async def fail(*_: object, **arguments: Any) -> Any:
        solved.append(arguments["request"].url.path)
        raise RuntimeError("FastAPI resolves the dependencies")

    monkeypatch.setattr("fastapi.routing.solve_dependencies", fail)
    assert respond(wing.client, "/ask", BODIES["valid"], FAST)[0] == 200
    assert solved == []
    assert respond(wing.client, "/ask", BODIES["valid"], BY_FASTAPI)[0] == 500
    assert solved == ["/ask"]


@pytest.mark.parametrize("content_type", [FAST, BY_FASTAPI])
def test_a_disconnect_within_the_body_is_not_a_server_error(
    wing: Wing, content_type: str
) -> None:
    received: list[dict[str, Any]] = [
        {"type": "http.request", "body": b'{"wor', "more_body": True}
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return received.pop(0) if received else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": "POST",
        "path": "/tell",
        "raw_path": b"/tell",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", content_type.encode())],
    }
    asyncio.run(wing.client.app(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 400
