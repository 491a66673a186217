"""Pooled HTTP connections to one server: idempotent requests are repeated, failures
raise errors.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx

from counterpoise import __version__
from counterpoise.client.failed_requests import (
    DEFAULT_URL,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
    response_error,
    transport_error,
    url_error,
)
from counterpoise.client.retries import pause_s, retry_after_s
from counterpoise.errors import RequestFailed, ServerUnavailable, UnexpectedResponse

RESPONSE_S, CONNECT_S = 60.0, 5.0
# Nothing was sent, so the server has done nothing.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
NO_PROXIES: dict[str, httpx.BaseTransport | None] = dict.fromkeys(
    ("http://", "https://", "all://")
)
PROXY_VARIABLES = (
    "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR"
)


@dataclass(frozen=True, slots=True)
class _Failure:
    error: RequestFailed
    can_repeat: bool
    retry_after_s: float = 0.0


class Connection:
    """Threads may share it.

    A failed request is repeated for `retry_s` in all, 0 for never.
    """

    def __init__(
        self,
        url: str | None,
        token: str | None,
        retry_s: float,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = (url or os.environ.get("COUNTERPOISE_URL") or DEFAULT_URL).rstrip(
            "/"
        )
        self.token = token or os.environ.get("COUNTERPOISE_TOKEN") or _token_of_file()
        self.retry_s = retry_s
        try:
            self._http = httpx.Client(
                headers=self._headers(),
                timeout=httpx.Timeout(RESPONSE_S, connect=CONNECT_S),
                transport=transport,
                mounts=NO_PROXIES
                if _is_loopback(self.url)
                else None,  # no proxy leads back to this machine
            )
        except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
            message = (
                f"one of {PROXY_VARIABLES} in the environment cannot be used: {error}"
            )
            raise RequestFailed(message) from None

    def close(self) -> None:
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        params: Mapping[str, str] | None = None,
        *,
        idempotent: bool,
        media_type: str | None = None,
        timeout_s: float = RESPONSE_S,
    ) -> httpx.Response:
        """The response to a request that succeeded.

        The body is sent as JSON; with a `media_type`, it is bytes of that type.
        """
        options: dict[str, Any] = {
            "params": params,
            "timeout": httpx.Timeout(timeout_s, connect=CONNECT_S),
        }
        if media_type is None:
            options["json"] = body
        else:
            options |= {"content": body, "headers": {"Content-Type": media_type}}
        deadline = time.monotonic() + self.retry_s
        failures = 0
        while True:
            result = self._send(method, path, options, idempotent)
            if isinstance(result, httpx.Response):
                return result
            pause = max(result.retry_after_s, pause_s(failures))
            if not result.can_repeat or time.monotonic() + pause > deadline:
                raise result.error
            time.sleep(pause)
            failures += 1

    def _send(
        self, method: str, path: str, options: dict[str, Any], idempotent: bool
    ) -> httpx.Response | _Failure:
        try:
            response = self._http.request(method, self.url + path, **options)
        except httpx.TransportError as error:
            failure = transport_error(self.url, error)
            can_repeat = idempotent or isinstance(error, NOT_SENT)
            return _Failure(
                failure, can_repeat and isinstance(failure, ServerUnavailable)
            )
        except httpx.InvalidURL:
            return _Failure(url_error(self.url), can_repeat=False)
        refusal = response_error(response, has_token=self.token is not None)
        if refusal is None:
            return response
        status = response.status_code
        can_repeat = status == TOO_MANY_REQUESTS or (
            idempotent and status in UNAVAILABLE
        )
        return _Failure(
            refusal, can_repeat, retry_after_s(response.headers.get("Retry-After", ""))
        )

    def stream(
        self, path: str, params: Mapping[str, str], silence_s: float = RESPONSE_S
    ) -> Iterator[bytes]:
        """The body of a response in parts, as they arrive.

        Not repeated: the caller has the first parts already.
        """
        timeout = httpx.Timeout(silence_s, connect=CONNECT_S)
        with (
            self._transport_errors(),
            self._http.stream(
                "GET", self.url + path, params=params, timeout=timeout
            ) as response,
        ):
            if not response.is_success:
                response.read()
            error = response_error(response, has_token=self.token is not None)
            if error is not None:
                raise error
            yield from response.iter_bytes()

    @contextmanager
    def _transport_errors(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise transport_error(self.url, error) from None
        except httpx.InvalidURL:
            raise url_error(self.url) from None

    def about(self) -> tuple[str, str]:
        """Title and version of the server."""
        try:
            info = self.request("GET", "/openapi.json", idempotent=True).json()["info"]
            return str(info["title"]), str(info["version"])
        except (LookupError, TypeError, ValueError):
            raise UnexpectedResponse(
                f"{self.url} has no version; is it a Counterpoise server?"
            ) from None

    def unexpected(self, what: str) -> UnexpectedResponse:
        """An error that explains an unexpected response as far as possible: another
        version, or another program.
        """
        try:
            title, version = self.about()
        except RequestFailed:
            hint = "is it a Counterpoise server? compare versions with: counterpoise doctor"
            return UnexpectedResponse(f"{what}; {hint}")
        if title != "Counterpoise":
            return UnexpectedResponse(
                f"{self.url} is {title!r}, not a Counterpoise server; set COUNTERPOISE_URL"
            )
        if version != __version__:
            hint = f"the server has version {version}, this is {__version__}; install the same version here"
            return UnexpectedResponse(f"{what}: {hint}")
        return UnexpectedResponse(
            f"{what}, although it has the same version; see its log"
        )

    def _headers(self) -> dict[str, str]:
        if not self.token:
            return {}
        if not (
            self.token.isascii() and self.token.isprintable()
        ):  # the message of httpx would contain it
            raise RequestFailed(
                "the token has characters that no token can have; check COUNTERPOISE_TOKEN"
            )
        return {"Authorization": f"Bearer {self.token}"}


def _is_loopback(url: str) -> bool:
    try:
        host = httpx.URL(url).host
        return host == "localhost" or ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError):
        return False


def _token_of_file() -> str | None:
    """A secret that an orchestrator mounts, or that only its owner can read."""
    file = os.environ.get("COUNTERPOISE_TOKEN_FILE")
    if not file:
        return None
    try:
        return Path(file).read_text().strip() or None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise RequestFailed(
            f"COUNTERPOISE_TOKEN_FILE {file} cannot be read: {reason}"
        ) from None
