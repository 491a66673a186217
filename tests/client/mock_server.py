"""A client whose server is a list of responses."""

from collections.abc import Callable
from typing import Any

import httpx

from counterpoise import Client
from counterpoise.wire.problems import Fault, Problem

Response = Callable[[httpx.Request], httpx.Response] | httpx.Response | Exception


def client_of(
    *responses: Response, retry_s: float = 60.0
) -> tuple[Client, list[httpx.Request]]:
    """A client whose server sends these responses, the last one again and again; and
    the requests.
    """
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        response = responses[min(len(requests), len(responses)) - 1]
        if isinstance(response, Exception):
            raise response
        return response(request) if callable(response) else response

    return Client(
        "http://server", retry_s=retry_s, transport=httpx.MockTransport(handle)
    ), requests


def problem(
    status: int, slug: str = "x", *errors: Fault, **headers: str
) -> httpx.Response:
    body = Problem(
        type=f"urn:counterpoise:problem:{slug}",
        title="title",
        status=status,
        detail="why",
        instance="/",
        request_id="request",
        errors=list(errors),
    )
    return httpx.Response(status, json=body.model_dump(), headers=headers)


def page(*items: Any, following: str | None = None) -> httpx.Response:
    return httpx.Response(
        200, json={"items": [item.model_dump() for item in items], "next": following}
    )
