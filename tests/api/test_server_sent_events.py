"""The wire format of event streams, and clients that stop reading."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from app.api import server_sent_events
from app.api.server_sent_events import EventStream, encode_event, encode_start, event_id
from counterpoise.wire.codes import EventKind


def test_an_event_is_a_block_of_fields() -> None:
    encoded = encode_event(event_id(7, 3), EventKind.PAUSED, {"text": "two\nlines"})
    assert encoded == b'id: 7-3\nevent: paused\ndata: {"text": "two\\nlines"}\n\n'
    assert encode_event(None, EventKind.CLOSED, {}) == b"event: closed\ndata: {}\n\n"
    assert event_id(None, 3) == "3"


def test_a_stream_begins_with_a_retry_time_a_long_comment_and_an_id() -> None:
    retry, comment, *rest = encode_start(7, 0).decode().split("\n")
    assert retry == "retry: 2000"
    assert comment.startswith(": ")
    assert len(comment) > 2000
    assert rest == ["", "id: 7-0", "", ""]


def test_a_client_that_stops_reading_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_sent_events, "SEND_TIMEOUT_S", 0.05)

    async def chunks() -> AsyncIterator[bytes]:
        yield b"something"

    async def never_returns(_: object) -> None:
        await asyncio.sleep(3600)

    with capture_logs() as logs:
        asyncio.run(EventStream(chunks()).stream_response(never_returns))
    assert [line["log_level"] for line in logs] == ["warning"]
