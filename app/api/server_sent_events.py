"""The wire format of event streams:
https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import structlog
from fastapi.responses import StreamingResponse
from starlette.types import Message, Send

from counterpoise.wire.codes import EventKind

log = structlog.stdlib.get_logger("counterpoise.events")
SEND_TIMEOUT_S = 30.0
# Some proxies buffer the first kilobytes of a response: a long comment flushes them.
PREAMBLE = b"retry: 2000\n: " + b"." * 2048 + b"\n\n"
HEARTBEAT = b": heartbeat\n\n"


class EventStream(StreamingResponse):
    """A stream that disconnects clients who stop reading; they may resume with the last
    id that they received.
    """

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[bytes]) -> None:
        super().__init__(
            content, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        )

    async def stream_response(self, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await send(message)

        try:
            await super().stream_response(send_in_time)
        except TimeoutError:
            log.warning(
                "a listener that stopped reading was disconnected",
                timeout_s=SEND_TIMEOUT_S,
            )


def event_id(study: int | None, position: int) -> str:
    """The id of an event in a study's stream, or in the stream of all studies (None).

    The study's own id is part of it, so that an event of a deleted study of the same
    name is not taken for it.
    """
    return str(position) if study is None else f"{study}-{position}"


def encode_start(study: int | None, position: int) -> bytes:
    """The beginning of a stream: a client that loses it before the first event resumes
    from here.
    """
    return PREAMBLE + f"id: {event_id(study, position)}\n\n".encode()


def encode_event(id_: str | None, kind: EventKind | str, data: dict[str, Any]) -> bytes:
    id_line = "" if id_ is None else f"id: {id_}\n"
    return f"{id_line}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
