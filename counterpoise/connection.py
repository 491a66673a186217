"""One pooled connection to a server: what is safe to say again is said again, and failures say what to do."""

import os
import random
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any

import httpx
from pydantic import ValidationError

from counterpoise import __version__
from counterpoise.errors import NotUnderstood, Refused, RequestFailed, ServerAway
from counterpoise.wire.problems import Problem

DEFAULT_URL = "http://127.0.0.1:8000"
ANSWER_S, CONNECT_S = 60.0, 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
AWAY = (502, 503, 504)  # the server, or a proxy before it, cannot answer now
TOO_MANY = 429
# Nothing was sent, so nothing can have been done.
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
NOWHERE: dict[str, httpx.BaseTransport | None] = dict.fromkeys(("http://", "https://", "all://"))


def pause_s(tried: int) -> float:
    """How long to wait after so many failures: longer each time, and not all clients at once."""
    return float(min(FIRST_PAUSE_S * 2.0 ** min(tried, 16), LONGEST_PAUSE_S) * random.uniform(0.5, 1.0))  # noqa: S311


class Connection:
    """Threads may share it. `retry_s` is how long a request is repeated in all, 0 for never."""

    def __init__(
        self, url: str | None, token: str | None, retry_s: float, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = (url or os.environ.get("COUNTERPOISE_URL") or DEFAULT_URL).rstrip("/")
        self.token = token or os.environ.get("COUNTERPOISE_TOKEN") or None
        self.retry_s = retry_s
        try:
            self._http = httpx.Client(
                headers=self._headers(),
                timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
                transport=transport,
                # A proxy for the outer world leads nowhere from loopback.
                mounts=NOWHERE if _on_loopback(self.url) else None,
            )
        except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
            names = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR"
            raise RequestFailed(f"one of {names} in the environment cannot be used: {error}") from None

    def close(self) -> None:
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        params: Mapping[str, str] | None = None,
        *,
        safe: bool,
        kind: str | None = None,
        answer_s: float = ANSWER_S,
    ) -> httpx.Response:
        """The answer to a request that the server accepted. `safe`: to say it twice is as good as once.

        The body is sent as JSON; with a `kind`, it is bytes of that media type.
        """
        said: dict[str, Any] = {"json": body} if kind is None else {"content": body, "headers": {"Content-Type": kind}}
        deadline = time.monotonic() + self.retry_s
        tried = 0
        while True:
            wish: float | None = None
            try:
                response = self._http.request(
                    method,
                    self.url + path,
                    **said,
                    params=params,
                    timeout=httpx.Timeout(answer_s, connect=CONNECT_S),
                )
                failure = self._failure(response)
                if failure is None:
                    return response
                again = response.status_code == TOO_MANY or (safe and response.status_code in AWAY)
                wish = _retry_after(response) if again else None
            except httpx.TransportError as error:
                failure = self._unreached(error)
                again = isinstance(failure, ServerAway) and (safe or isinstance(error, UNSENT))
            except httpx.InvalidURL:
                raise self._no_url() from None
            pause = max(wish or 0.0, pause_s(tried))
            if not again or time.monotonic() + pause > deadline:
                raise failure from None
            time.sleep(pause)
            tried += 1

    def stream(self, path: str, params: Mapping[str, str], quiet_s: float = ANSWER_S) -> Iterator[bytes]:
        """The answer's body in parts, as they come. Not repeated: whoever reads has the first ones already."""
        timeout = httpx.Timeout(quiet_s, connect=CONNECT_S)
        try:
            with self._http.stream("GET", self.url + path, params=params, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                failure = self._failure(response)
                if failure is not None:
                    raise failure
                yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise self._unreached(error) from None
        except httpx.InvalidURL:
            raise self._no_url() from None

    def about(self) -> tuple[str, str]:
        """Title and version of whatever answers."""
        try:
            info = self.request("GET", "/openapi.json", safe=True).json()["info"]
            return str(info["title"]), str(info["version"])
        except (LookupError, TypeError, ValueError):
            raise NotUnderstood(f"{self.url} does not say its version; is it a Counterpoise server?") from None

    def not_understood(self, what: str) -> NotUnderstood:
        """Says why, as far as it can be found out: another version, or another program."""
        try:
            title, theirs = self.about()
        except RequestFailed:
            return NotUnderstood(f"{what}; is it a Counterpoise server? compare versions with: counterpoise doctor")
        if title != "Counterpoise":
            return NotUnderstood(f"{self.url} is {title!r}, not a Counterpoise server; set COUNTERPOISE_URL")
        if theirs != __version__:
            return NotUnderstood(
                f"{what}: the server has version {theirs}, this is {__version__}; install the same version here"
            )
        return NotUnderstood(f"{what}, although it has the same version; see what its log says")

    def body(self, response: httpx.Response) -> Any:
        try:
            return response.json() if response.content else None
        except ValueError:
            raise self.not_understood(f"{response.url} did not answer with JSON") from None

    def _headers(self) -> dict[str, str]:
        if not self.token:
            return {}
        if not (self.token.isascii() and self.token.isprintable()):  # the library's own message would show it
            raise RequestFailed("the token holds characters that no token has; check COUNTERPOISE_TOKEN")
        return {"Authorization": f"Bearer {self.token}"}

    def _failure(self, response: httpx.Response) -> RequestFailed | None:
        if response.is_success:
            return None
        status = response.status_code
        kind = ServerAway if status in AWAY or status == TOO_MANY else Refused
        try:
            problem = Problem.model_validate_json(response.content)
        except ValidationError:
            words = f"{response.url} answered {status} {response.reason_phrase}; is COUNTERPOISE_URL right?"
            return (kind if kind is ServerAway else NotUnderstood)(words, status)
        way_out = "\nSet COUNTERPOISE_TOKEN, or give --token." if status == 401 and not self.token else ""
        if problem.type == "urn:counterpoise:problem:not-found":
            way_out = "\nIs the server older than this? Compare versions with: counterpoise doctor"
        faults = "".join(f"\n  {fault.pointer}: {fault.detail}" for fault in problem.errors)
        return kind(problem.detail + faults + way_out, status, problem)

    def _unreached(self, error: httpx.TransportError) -> RequestFailed:
        if isinstance(error, httpx.UnsupportedProtocol):
            return self._no_url()
        if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
            return ServerAway(f"{self.url} did not answer in time; try again, or see what its log says")
        reason = str(error) or "no answer"
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            way_out = "set SSL_CERT_FILE to a file with the certificate of your own authority, if that signed it"
            return RequestFailed(f"the certificate of {self.url} is not trusted: {way_out} ({reason})")
        way_out = "is `counterpoise serve` running? set COUNTERPOISE_URL if it is elsewhere"
        return ServerAway(f"cannot reach {self.url}: {way_out} ({reason})")

    def _no_url(self) -> RequestFailed:
        return RequestFailed(f"{self.url!r} is not a URL such as {DEFAULT_URL}; set COUNTERPOISE_URL")


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds, or a date."""
    said = response.headers.get("Retry-After", "").strip()
    if said.isdecimal():
        return float(said)
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _on_loopback(url: str) -> bool:
    try:
        host = httpx.URL(url).host
        return host == "localhost" or ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError):
        return False
