"""Leads from a path prefix without a slash to the dashboard."""

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class PrefixRedirect:
    """`/counterpoise` behind a proxy is what people type; the addresses in the page are
    relative to `/counterpoise/`.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self.app = app
        self.prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == self.prefix:
            response = RedirectResponse(f"{self.prefix}/")
            await response(scope, receive, send)
            return
        await self.app(scope, receive, send)
