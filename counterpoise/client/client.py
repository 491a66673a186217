"""The client: a method for every route, with wire shapes as arguments and results."""

from types import TracebackType
from typing import Self

import httpx

from counterpoise.client.connection import Connection
from counterpoise.client.study_requests import StudyRequests
from counterpoise.client.work_requests import WorkRequests


class Client(WorkRequests, StudyRequests):
    """Sends requests to one server; a context manager; threads may share it.

    The server and the token are read from COUNTERPOISE_URL and COUNTERPOISE_TOKEN
    unless given. Idempotent requests are repeated for `retry_s` while the server is
    unavailable. Failures raise `RequestFailed`, or one of its subclasses.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retry_s: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(Connection(url, token, retry_s, transport))

    @property
    def url(self) -> str:
        return self._connection.url

    @property
    def has_token(self) -> bool:
        return self._connection.token is not None

    def check_ready(self) -> None:
        """Raises, with the reason, if the server cannot work now."""
        self._connection.request("GET", "/readyz", idempotent=True)

    def about(self) -> tuple[str, str]:
        """Title and version of the server."""
        return self._connection.about()

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"
