"""Errors for requests that failed, with what to do."""

import httpx
from pydantic import ValidationError

from counterpoise.errors import (
    Refused,
    RequestFailed,
    ServerUnavailable,
    UnexpectedResponse,
)
from counterpoise.wire.problems import Problem, list_faults

DEFAULT_URL = "http://127.0.0.1:8000"
TOO_MANY_REQUESTS = 429
# The server, or a proxy in front of it, cannot respond now
UNAVAILABLE = (
    502,
    503,
    504,
)
ROUTE_NOT_FOUND = "urn:counterpoise:problem:not-found"


def response_error(
    response: httpx.Response, *, has_token: bool
) -> RequestFailed | None:
    """The error of a response; None if the request succeeded."""
    if response.is_success:
        return None
    status = response.status_code
    is_unavailable = status in UNAVAILABLE or status == TOO_MANY_REQUESTS
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        responded = f"{response.url} responded {status} {response.reason_phrase}"
        if is_unavailable:
            detail = f"{responded}; the server or its proxy is restarting or overloaded"
            return ServerUnavailable(detail, status)
        return UnexpectedResponse(f"{responded}; is COUNTERPOISE_URL right?", status)
    hint = ""
    if status == 401 and has_token:
        hint = "\nThe server does not know the token that was sent: check COUNTERPOISE_TOKEN, or --token."
    elif status == 401:
        hint = "\nNo token was sent: set COUNTERPOISE_TOKEN, or give --token."
    if problem.type == ROUTE_NOT_FOUND:
        hint = "\nIs the server older than this? Compare versions with: counterpoise doctor"
    detail = problem.detail + list_faults(problem.errors, problem.error_count) + hint
    return (
        ServerUnavailable(detail, status, problem)
        if is_unavailable
        else Refused(detail, status, problem)
    )


def transport_error(url: str, error: httpx.TransportError) -> RequestFailed:
    """The error of a request that got no response."""
    if isinstance(error, httpx.UnsupportedProtocol):
        return url_error(url)
    if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
        return ServerUnavailable(
            f"{url} did not respond in time; try again, or see its log"
        )
    reason = str(error) or "no response"
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        hint = "set SSL_CERT_FILE to a file with the certificate of your own authority, if that signed it"
        return RequestFailed(
            f"the certificate of {url} is not trusted: {hint} ({reason})"
        )
    hint = "is `counterpoise serve` running? set COUNTERPOISE_URL if it is elsewhere"
    return ServerUnavailable(f"cannot reach {url}: {hint} ({reason})")


def url_error(url: str) -> RequestFailed:
    return RequestFailed(
        f"{url!r} is not a URL such as {DEFAULT_URL}; set COUNTERPOISE_URL"
    )
