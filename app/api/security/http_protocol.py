"""Uvicorn's HTTP protocol with limits on the size and the duration of a request.

Uvicorn limits neither: a client could send a header without end, or keep thousands of
connections open with half a request each.
"""

import asyncio
from enum import Enum, auto

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)


class Phase(Enum):
    """How much of a request has arrived."""

    HEAD = auto()  # a part of its request line and headers, or nothing yet
    BODY = auto()
    COMPLETE = auto()


class HeadTooLarge(Exception):
    """Raised in a callback of the parser, which then fails."""


class LimitedHttpProtocol(HttpToolsProtocol):
    MAX_HEAD_BYTES = 64 * 1024
    MAX_HEAD_S = 20.0
    MAX_BODY_S = 300.0

    _phase = Phase.HEAD
    _head_bytes = 0
    _bytes_without_progress = 0
    _has_begun = False  # a request, of which a part may have come with the one before
    _timer: asyncio.TimerHandle | None = None
    _timed_phase = Phase.COMPLETE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_duration()

    def connection_lost(self, exc: Exception | None) -> None:
        self._phase = Phase.COMPLETE
        self._limit_duration()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._bytes_without_progress += len(data)
        super().data_received(data)
        # The parser reports a header at its end only
        if self._bytes_without_progress > self.MAX_HEAD_BYTES:
            self._refuse(TOO_LARGE)
        self._limit_duration()

    def send_400_response(self, msg: str) -> None:
        if self._head_bytes > self.MAX_HEAD_BYTES:
            self._refuse(TOO_LARGE)
        else:
            super().send_400_response(msg)

    def _refuse(self, response: bytes) -> None:
        if self.transport.is_closing():
            return
        has_cycle = bool(self.cycle)  # not before the first request
        if not has_cycle or self.cycle.response_complete:
            self.transport.write(response)
        self.transport.close()

    def _limit_duration(self) -> None:
        """Start another timer if the phase has changed."""
        if self._phase is self._timed_phase:
            return
        self._timed_phase = self._phase
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._phase is not Phase.COMPLETE:
            is_head = self._phase is Phase.HEAD
            limit_s = self.MAX_HEAD_S if is_head else self.MAX_BODY_S
            self._timer = self.loop.call_later(limit_s, self._end_slow_request)

    def _end_slow_request(self) -> None:
        if self._has_begun or self._bytes_without_progress:
            self._refuse(TOO_SLOW)
        else:  # nothing was sent, and no response is expected
            self.transport.close()

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        self._phase = Phase.HEAD
        self._head_bytes = 0
        self._has_begun = True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also for the trailers of a chunked body."""
        super().on_header(name, value)
        self._count(len(name) + len(value))

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self.MAX_HEAD_BYTES:
            raise HeadTooLarge

    def on_headers_complete(self) -> None:
        self._phase = Phase.BODY
        self._bytes_without_progress = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bytes_without_progress = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_begun = False
        self._phase = Phase.COMPLETE
        self._bytes_without_progress = 0
        super().on_message_complete()
