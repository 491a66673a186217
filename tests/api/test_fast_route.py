"""What workers call takes a shorter way than FastAPI's own; nobody may notice."""

import asyncio
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.wing import Wing

ASK = {"worker": "w", "studies": ["wing"], "objectives": ["mass"], "wait_s": 0}
BODIES: dict[str, bytes] = {
    "good": json.dumps(ASK).encode(),
    "nothing": b"",
    "half of it": b'{"worker": "w"',
    "no JSON": b"\xff\xfe\xfd",
    "a list": b"[]",
    "null": b"null",
    "a field that is missing": b"{}",
    "a field that does not exist": json.dumps({**ASK, "objektives": []}).encode(),
    "a wrong type": json.dumps({**ASK, "wait_s": "1"}).encode(),
    "no number": json.dumps({**ASK, "wait_s": float("nan")}).encode(),
    "a name twice": b'{"worker": "v", "worker": "w", "studies": ["wing"], "objectives": ["mass"], "wait_s": 0}',
    "very deep": b"[" * 100_000,
    "a very long number": b'{"worker": ' + b"9" * 5000 + b"}",
    "half a character": json.dumps({**ASK, "worker": "\ud800"}).encode(),
    "a mark before it": b"\xef\xbb\xbf" + json.dumps(ASK).encode(),
    "another encoding": json.dumps(ASK).encode("utf-16"),
}
pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)  # the database makes no difference
# FastAPI's own way: a content type that says the same in other words.
DIRECTLY, BY_FASTAPI = "application/json", "application/json; charset=utf-8"


def answer_to(client: TestClient, path: str, body: bytes, content_type: str) -> tuple[int, Any]:
    answer = client.post(path, content=body, headers={"Content-Type": content_type})
    said = answer.json()
    for changing in ("request_id", "jobs"):  # `jobs`: each has its own lease
        if isinstance(said, dict):
            said.pop(changing, None)
    return answer.status_code, said


@pytest.mark.parametrize("path", ["/ask", "/tell", "/heartbeat", "/release"])
def test_both_ways_answer_the_same(wing: Wing, path: str) -> None:
    for what, body in BODIES.items():
        directly, by_fastapi = (answer_to(wing.client, path, body, kind) for kind in (DIRECTLY, BY_FASTAPI))
        assert (what, directly) == (what, by_fastapi)
        assert directly[0] == 200 or 400 <= directly[0] < 500, what


def test_a_good_request_takes_the_short_way(wing: Wing, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the tests above do compare two ways."""
    called: list[str] = []

    async def noted(*_: object, **given: Any) -> Any:
        called.append(given["request"].url.path)
        raise RuntimeError("solved")

    monkeypatch.setattr("fastapi.routing.solve_dependencies", noted)
    assert answer_to(wing.client, "/ask", BODIES["good"], DIRECTLY)[0] == 200
    assert called == []
    assert answer_to(wing.client, "/ask", BODIES["good"], BY_FASTAPI)[0] == 500
    assert called == ["/ask"]


@pytest.mark.parametrize("kind", [DIRECTLY, BY_FASTAPI])
def test_who_leaves_in_the_middle_of_a_body_is_no_fault_of_ours(wing: Wing, kind: str) -> None:
    came: list[dict[str, Any]] = [{"type": "http.request", "body": b'{"wor', "more_body": True}]
    sent: list[Any] = []

    async def receive() -> Any:
        return came.pop(0) if came else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", kind.encode())]
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/tell",
        "raw_path": b"/tell",
    }
    scope |= {"query_string": b"", "root_path": "", "scheme": "http", "headers": headers, "asgi": {"version": "3.0"}}
    asyncio.run(wing.client.app(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 400
