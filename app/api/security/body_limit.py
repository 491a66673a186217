"""Limits the size of request bodies, whether or not the request declares it."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        content_length = Request(scope).headers.get("Content-Length", "")
        declared = int(content_length) if content_length.isdecimal() else 0
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            if declared > self.max_bytes:  # refused before it arrives
                raise self._too_large()
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.max_bytes:
                raise self._too_large()
            return message

        await self.app(scope, receive_within_limit, send)

    def _too_large(self) -> HTTPException:
        return HTTPException(
            413,
            f"The body is larger than {self.max_bytes} bytes (COUNTERPOISE_MAX_BODY_BYTES); send less at a time.",
        )
