"""A request id for every request, one log line for its end, and the last net under what nobody foresaw."""

import itertools
import re
import time
import uuid
from collections.abc import Callable

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import answer_unforeseen

log = structlog.stdlib.get_logger("counterpoise.http")
HEADER = "X-Request-ID"
_HEADER = HEADER.lower().encode()
_PROCESS = uuid.uuid4().hex[:16]  # and then a number: no two requests of any server have the same
_numbers = itertools.count()
_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestLog:
    """Neither headers nor queries nor bodies are logged: they may hold tokens and designs."""

    def __init__(self, app: ASGIApp, observe: Callable[[Scope, int, float], None]) -> None:
        self.app = app
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        given = request.headers.get(HEADER, "")
        request_id = given if _SANE.fullmatch(given) else f"{_PROCESS}{next(_numbers):016x}"
        request.state.request_id = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((_HEADER, request_id.encode()))
            await send(message)

        began = time.perf_counter()
        known = structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            try:
                await self.app(scope, receive, send_with_id)
            except Exception:
                log.exception("request failed", method=scope["method"], path=scope["path"])
                if status:  # half an answer is out: break the connection instead of pretending
                    raise
                await answer_unforeseen(request)(scope, receive, send_with_id)
            took_s = time.perf_counter() - began
            self.observe(scope, status, took_s)
            took = round(took_s * 1000, 1)
            log.info("request", method=scope["method"], path=scope["path"], status=status, took_ms=took)
        finally:
            structlog.contextvars.reset_contextvars(**known)
