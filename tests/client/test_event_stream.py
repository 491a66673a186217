"""The event stream of the client: it continues after the last event, whatever happens
to the connection.
"""

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.service.studies.lifecycle import create, delete, pause, resume
from app.store.database import Database
from counterpoise import Client
from counterpoise.errors import Refused, ServerUnavailable, UnexpectedResponse
from counterpoise.wire.specification import parse_specification
from tests.api.wing import SPEC
from tests.client.mock_server import client_of, problem
from tests.e2e.processes import PATIENCE_S, eventually, serving


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr("counterpoise.client.event_stream.time.sleep", pauses.append)
    monkeypatch.setattr(
        "counterpoise.client.event_stream.time.monotonic", lambda: sum(pauses)
    )
    return pauses


def stream(*blocks: str, breaks: bool = False) -> httpx.Response:
    def content() -> Iterator[bytes]:
        yield b"retry: 2000\n: ....\n\n"
        for block in blocks:
            yield block.encode() + b"\n\n"
        if breaks:
            raise httpx.ReadError("the connection broke")

    return httpx.Response(
        200, content=content(), headers={"content-type": "text/event-stream"}
    )


def block(number: int, kind: str = "done") -> str:
    return f'id: 7-{number}\nevent: {kind}\ndata: {{"study": "wing", "seq": {number}, "at": "t", "kind": "{kind}"}}'


def positions(requests: list[httpx.Request]) -> list[str | None]:
    return [request.url.params.get("after") for request in requests]


def test_it_continues_after_the_last_event(pauses: list[float]) -> None:
    client, requests = client_of(
        stream("id: 7-2", breaks=True),  # without an event, but with a position
        httpx.ConnectError("no"),
        problem(503),
        stream(block(3), ": still here", block(4), breaks=True),
        stream("id: 7-4", block(5), 'event: closed\ndata: {"reason": "x"}', block(99)),
        stream("id: 7-5", block(6, "deleted")),
    )
    events = list(client.events("wing"))
    assert [(event.id, event.kind, event.seq) for event in events] == [
        ("7-3", "done", 3),
        ("7-4", "done", 4),
        ("7-5", "done", 5),
        ("7-6", "deleted", 6),
    ]
    assert (events[0].study, events[0].at, events[0].data["kind"]) == (
        "wing",
        "t",
        "done",
    )
    assert positions(requests) == [None, "7-2", "7-2", "7-2", "7-4", "7-5"]
    assert len(pauses) == 5


def test_without_follow_it_ends(pauses: list[float]) -> None:
    client, requests = client_of(stream(block(1), breaks=True), stream(block(2)))
    assert [event.seq for event in client.events(after="0", follow=False)] == [1, 2]
    assert [request.url.params["follow"] for request in requests] == ["false", "false"]
    assert positions(requests) == ["0", "7-1"]
    assert requests[0].url.path == "/events"


def test_an_unavailable_server_is_an_error_in_the_end(pauses: list[float]) -> None:
    client, _ = client_of(
        stream(block(1), breaks=True), httpx.ConnectError("no"), retry_s=5.0
    )
    events = client.events("wing")
    assert next(events).seq == 1
    with pytest.raises(ServerUnavailable):
        next(events)
    assert 0 < sum(pauses) <= 5.0


def test_a_refusal_is_not_repeated(pauses: list[float]) -> None:
    client, requests = client_of(problem(404, "study-unknown"))
    with pytest.raises(Refused):
        next(client.events("wing"))
    assert len(requests) == 1
    with pytest.raises(ValueError, match="not a name of a study"):
        client.events("a/b")


@pytest.mark.parametrize("data", ["[]", "{", '{"seq": "x"}'])
def test_an_unexpected_event_is_an_error(pauses: list[float], data: str) -> None:
    client, _ = client_of(
        stream(f"id: 1\nevent: done\ndata: {data}"), problem(404), retry_s=0.0
    )
    with pytest.raises(UnexpectedResponse, match="an event is not what"):
        next(client.events())


@pytest.mark.slow_on("sqlite")
def test_it_continues_after_a_restart_of_the_server(
    database: Database, database_url: str
) -> None:
    create(database, parse_specification(SPEC), 60.0)
    received: list[Any] = []

    def listen(url: str) -> None:
        with Client(url, retry_s=120.0) as client:
            received.extend(
                (event.seq, event.kind) for event in client.events("wing", after="0")
            )

    with serving(database_url, "--no-planner") as (url, _):
        thread = threading.Thread(target=listen, args=(url,))
        thread.start()
        eventually(lambda: len(received) == 2, "the first events")
        pause(database, "wing")
    resume(database, "wing")
    with serving(database_url, "--no-planner", port=int(url.rsplit(":", 1)[1])):
        pause(database, "wing")
        eventually(lambda: len(received) == 5, "the events since then")
        delete(database, "wing", force=False)
        thread.join(PATIENCE_S)
    kinds = ["created", "step_due", "paused", "resumed", "paused"]
    assert received == [*enumerate(kinds, 1), (None, "deleted")]
