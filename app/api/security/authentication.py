"""Authenticates every request before any of its body is read."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.problems import known_error_response
from app.api.security.access import Role, authenticate, bearer_token, studies_of
from app.api.security.wrong_tokens import WrongTokens
from app.errors import CounterpoiseError, TokenMissing, TooManyWrongTokens
from app.settings import Settings

# Every other path requires a token, where the server has tokens.
OPEN_PATHS = frozenset(
    {
        "/",
        "/docs",
        "/healthz",
        "/login",
        "/logout",
        "/me",
        "/openapi.json",
        "/readyz",
    }
)
OPEN_FOLDER = "/assets/"  # the files of the dashboard, which hold no data


def is_open(scope: Scope) -> bool:
    """Whether this path needs no token; it may begin with the path prefix of a proxy."""
    path: str = scope["path"]
    root_path: str = scope.get("root_path", "")
    if root_path and path.startswith(f"{root_path}/"):
        path = path.removeprefix(root_path)
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


class Authentication:
    """Middleware, because FastAPI reads the body before it calls dependencies: a client
    without a token must not make the server read and parse megabytes.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self.wrong_tokens = WrongTokens()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not is_open(scope):
            request = Request(scope)
            try:
                self._authenticate(request)
            except CounterpoiseError as error:
                await known_error_response(request, error)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _authenticate(self, request: Request) -> None:
        token = bearer_token(request)
        address = request.client.host if request.client else ""
        if token is not None and self.wrong_tokens.is_blocked(address, token):
            raise TooManyWrongTokens(
                "too many wrong tokens came from this address; wait a minute"
            )
        try:
            caller = authenticate(self.settings, request)
        except TokenMissing:
            if token is not None:
                self.wrong_tokens.add_wrong(address)
            raise
        request.state.caller = caller
        if token is not None:
            self.wrong_tokens.add_right(token)
            if caller.role is Role.WORKER:
                request.state.studies = studies_of(self.settings, token)
