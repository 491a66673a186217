"""Gives every request an id, logs it when it ends, and responds to unexpected errors."""

import itertools
import re
import time
import uuid
from collections.abc import Callable

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import internal_error_response
from counterpoise.wire.text import visible

log = structlog.stdlib.get_logger("counterpoise.http")
HEADER = "X-Request-ID"
SERVER_ERROR = 500
_RAW_HEADER = HEADER.lower().encode()
_VALID_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# A request's number in this process, after a random prefix: unique among all servers.
_PREFIX = uuid.uuid4().hex[:16]
_numbers = itertools.count()


class RequestLog:
    """Logs neither headers nor queries nor bodies: they may hold tokens and designs."""

    def __init__(
        self, app: ASGIApp, observe: Callable[[Scope, int, float], None]
    ) -> None:
        self.app = app
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        request_id = _id_of(request)
        request.state.request_id = request_id
        path = visible(scope["path"])
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((_RAW_HEADER, request_id.encode()))
            await send(message)

        started = time.perf_counter()
        context = structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            try:
                await self.app(scope, receive, send_with_id)
            except Exception:
                log.exception("request failed", method=scope["method"], path=path)
                # the response has begun: close the connection, so that the client sees
                # that it is cut off
                if status:
                    raise
                await internal_error_response(request)(scope, receive, send_with_id)
            took_s = time.perf_counter() - started
            self.observe(scope, status, took_s)
            took_ms = round(took_s * 1000, 1)
            # At debug level: workers send thousands. /metrics counts them all.
            write = log.info if status >= SERVER_ERROR else log.debug
            write(
                "request",
                method=scope["method"],
                path=path,
                status=status,
                took_ms=took_ms,
            )
        finally:
            structlog.contextvars.reset_contextvars(**context)


def _id_of(request: Request) -> str:
    """The client's own id if it is a plain one, else a new one."""
    given = request.headers.get(HEADER, "")
    return given if _VALID_ID.fullmatch(given) else f"{_PREFIX}{next(_numbers):016x}"
