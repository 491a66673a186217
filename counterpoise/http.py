"""Requests to a Counterpoise server, whose failures say what to do."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import httpx
from pydantic import ValidationError

from counterpoise.wire.problems import Problem

DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT = httpx.Timeout(60.0, connect=5.0)


class RequestFailed(Exception):
    """The server was not reached, or refused; `status` is the HTTP status where there was an answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any


@dataclass(frozen=True, slots=True)
class Server:
    url: str = DEFAULT_URL
    token: str | None = field(default=None, repr=False)

    def request(self, method: str, path: str, json: object = None, params: dict[str, str] | None = None) -> Answer:
        """The answer to a request that the server accepted; else RequestFailed."""
        url = self.url.rstrip("/")
        try:
            # A proxy for the outer world leads nowhere from loopback.
            with httpx.Client(headers=self._headers(), timeout=TIMEOUT, trust_env=not _on_loopback(url)) as client:
                response = client.request(method, url + path, json=json, params=params)
        except (httpx.ReadTimeout, httpx.WriteTimeout):
            raise RequestFailed(f"{url} did not answer in time; try again, or see what its log says") from None
        except (httpx.UnsupportedProtocol, httpx.InvalidURL):
            raise RequestFailed(f"{url!r} is not a URL such as {DEFAULT_URL}; set COUNTERPOISE_URL") from None
        except httpx.HTTPError as error:
            reason = str(error) or "no answer"
            way_out = "is `counterpoise serve` running? set COUNTERPOISE_URL if it is elsewhere"
            raise RequestFailed(f"cannot reach {url}: {way_out} ({reason})") from None
        return Answer(response.status_code, self._body(response))

    def items(self, path: str, params: dict[str, str] | None = None) -> Iterator[Any]:
        """Every item of a list, page after page."""
        cursor: dict[str, str] = {}
        while True:
            page = self.request("GET", path, params={**(params or {}), **cursor}).body
            if not isinstance(page, dict) or not isinstance(page.get("items"), list):
                raise RequestFailed(f"{self.url}{path} did not answer with a list; is it a Counterpoise server?")
            yield from page["items"]
            if not page.get("next"):
                return
            cursor = {"cursor": str(page["next"])}

    def _headers(self) -> dict[str, str]:
        if not self.token:
            return {}
        if not (self.token.isascii() and self.token.isprintable()):  # the library's own message would show it
            raise RequestFailed("the token holds characters that no token has; check COUNTERPOISE_TOKEN")
        return {"Authorization": f"Bearer {self.token}"}

    def _body(self, response: httpx.Response) -> Any:
        if response.is_success:
            try:
                return response.json() if response.content else None
            except ValueError:
                raise RequestFailed(f"{response.url} did not answer with JSON; is it a Counterpoise server?") from None
        try:
            problem = Problem.model_validate_json(response.content)
        except ValidationError:
            words = (
                f"{response.url} answered {response.status_code} {response.reason_phrase}; is COUNTERPOISE_URL right?"
            )
            raise RequestFailed(words, response.status_code) from None
        way_out = "\nSet COUNTERPOISE_TOKEN, or give --token." if problem.status == 401 and not self.token else ""
        faults = "".join(f"\n  {fault.pointer}: {fault.detail}" for fault in problem.errors)
        raise RequestFailed(problem.detail + faults + way_out, response.status_code)


def _on_loopback(url: str) -> bool:
    try:
        host = httpx.URL(url).host
        return host == "localhost" or ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError):
        return False
