"""The client's requests: which are repeated, and how responses are read."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import counterpoise
from counterpoise import Client, __version__
from counterpoise.errors import (
    Refused,
    RequestFailed,
    ServerUnavailable,
    UnexpectedResponse,
)
from counterpoise.wire.problems import Fault
from counterpoise.wire.specification import EXAMPLE, parse_specification
from counterpoise.wire.views import JobStory
from counterpoise.wire.work import Ask, Tell
from tests.client.mock_server import client_of, page, problem
from tests.commands.fake_api import FRONT, STUDY, WORKER

LEASE = "0123456789abcdef0123456789abcdef"
ASK = Ask(worker="me", studies=["wing"], objectives=["mass"])
TELL = Tell(job=17, lease=LEASE, value=3.25)
TOLD = {"job": 17, "status": 200, "state": "done", "detail": "recorded"}


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses are recorded instead of slept, and move the clock."""
    pauses: list[float] = []
    monkeypatch.setattr("counterpoise.client.connection.time.sleep", pauses.append)
    monkeypatch.setattr(
        "counterpoise.client.connection.time.monotonic", lambda: sum(pauses)
    )
    for name in ("COUNTERPOISE_URL", "COUNTERPOISE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return pauses


STORY = JobStory(
    job=17,
    study="wing",
    sample=5,
    step=None,
    objective="mass",
    also=[],
    cheap_only=False,
    x={},
    state="ready",
    value=None,
    ahead=0,
    why=[],
    attempts=[],
)
STUDY_RESPONSE = httpx.Response(200, json=STUDY.model_dump())
TOLD_RESPONSE = httpx.Response(200, json=TOLD)
NO_JOBS = httpx.Response(
    200, json={"jobs": [], "reason": "planning", "detail": "d", "retry_after_s": 1.0}
)
IDEMPOTENT: dict[str, tuple[Callable[[Client], Any], httpx.Response]] = {
    "GET /studies/wing": (lambda client: client.study("wing"), STUDY_RESPONSE),
    "GET /studies?limit=1000": (lambda client: list(client.studies()), page()),
    "GET /studies/wing/samples?limit=1000&full=true": (
        lambda client: list(client.samples("wing", full=True)),
        page(),
    ),
    "GET /studies/wing/jobs?limit=1000&objective=mass&state=failed": (
        lambda client: list(client.jobs("wing", objective="mass", state="failed")),
        page(),
    ),
    "GET /studies/wing/steps?limit=1000": (
        lambda client: list(client.steps("wing")),
        page(),
    ),
    "GET /studies/wing/front": (
        lambda client: client.front("wing"),
        page(*FRONT),
    ),
    "GET /workers?limit=1000": (lambda client: list(client.workers()), page(WORKER)),
    "GET /jobs/17": (
        lambda client: client.explain(17),
        httpx.Response(200, json=STORY.model_dump()),
    ),
    "POST /workers/drain": (
        lambda client: client.drain("node7"),
        httpx.Response(200, json=WORKER.model_dump()),
    ),
    "POST /workers/undrain": (
        lambda client: client.undrain("node7"),
        httpx.Response(200, json=WORKER.model_dump()),
    ),
    "POST /studies": (lambda client: client.create_study(EXAMPLE), STUDY_RESPONSE),
    "POST /studies?paused=true": (
        lambda client: client.create_study(EXAMPLE, paused=True),
        STUDY_RESPONSE,
    ),
    "POST /studies/wing/pause": (lambda client: client.pause("wing"), STUDY_RESPONSE),
    "POST /studies/wing/resume": (lambda client: client.resume("wing"), STUDY_RESPONSE),
    "POST /studies/wing/stop": (
        lambda client: client.stop("wing", cancel_running=True),
        STUDY_RESPONSE,
    ),
    "POST /tell": (lambda client: client.tell(TELL), TOLD_RESPONSE),
    "POST /heartbeat": (
        lambda client: client.heartbeat([LEASE]),
        httpx.Response(200, json={"leases": []}),
    ),
    "POST /release": (
        lambda client: client.release([LEASE]),
        httpx.Response(200, json={"released": [LEASE]}),
    ),
}
NOT_IDEMPOTENT: dict[str, tuple[Callable[[Client], Any], httpx.Response]] = {
    "POST /ask": (lambda client: client.ask(ASK), NO_JOBS),
    "POST /studies/wing/extend": (
        lambda client: client.extend("wing", 90),
        STUDY_RESPONSE,
    ),
    "POST /studies/wing/retry": (
        lambda client: client.retry("wing", ["mass"]),
        httpx.Response(200, json={"jobs": 3}),
    ),
    "DELETE /studies/wing?force=true": (
        lambda client: client.delete("wing", force=True),
        httpx.Response(204),
    ),
}
NO_RESPONSE = [
    httpx.ReadError("reset"),
    httpx.ReadTimeout("slow"),
    httpx.RemoteProtocolError("cut"),
]


def route_of(request: httpx.Request) -> str:
    return f"{request.method} {request.url.raw_path.decode()}"


@pytest.mark.parametrize("route", [*IDEMPOTENT, *NOT_IDEMPOTENT])
@pytest.mark.parametrize(
    "failure",
    [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow"), problem(429)],
)
def test_a_request_that_was_not_sent_is_repeated(route: str, failure: Any) -> None:
    call, response = (IDEMPOTENT | NOT_IDEMPOTENT)[route]
    client, requests = client_of(failure, failure, response)
    call(client)
    assert [route_of(request) for request in requests] == [route] * 3
    assert len({request.content for request in requests}) == 1


@pytest.mark.parametrize("route", IDEMPOTENT)
@pytest.mark.parametrize(
    "failure",
    [*NO_RESPONSE, *map(problem, (502, 503, 504)), httpx.Response(502, text="<html>")],
)
def test_an_idempotent_request_without_a_response_is_repeated(
    route: str, failure: Any
) -> None:
    call, response = IDEMPOTENT[route]
    client, requests = client_of(failure, failure, response)
    call(client)
    assert len(requests) == 3


@pytest.mark.parametrize("route", NOT_IDEMPOTENT)
@pytest.mark.parametrize("failure", [*NO_RESPONSE, *map(problem, (502, 503, 504))])
def test_another_request_without_a_response_is_not_repeated(
    route: str, failure: Any
) -> None:
    call, _ = NOT_IDEMPOTENT[route]
    client, requests = client_of(failure)
    with pytest.raises(ServerUnavailable):
        call(client)
    assert len(requests) == 1


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500])
def test_a_refused_request_is_not_repeated(status: int, pauses: list[float]) -> None:
    client, requests = client_of(
        problem(status, "x", Fault(pointer="#/budget", detail="too small"))
    )
    with pytest.raises(Refused) as caught:
        client.study("wing")
    assert (len(requests), pauses) == (1, [])
    assert (caught.value.status, caught.value.detail) == (
        status,
        "why\n  #/budget: too small",
    )
    assert [fault.pointer for fault in caught.value.faults] == ["#/budget"]


def test_pauses_grow_until_the_time_for_retries_is_over(pauses: list[float]) -> None:
    client, requests = client_of(httpx.ConnectError("refused"), retry_s=30.0)
    with pytest.raises(
        ServerUnavailable,
        match=r"cannot reach http://server: is `counterpoise serve` running\?",
    ):
        client.study("wing")
    assert sum(pauses) <= 30.0
    assert len(requests) == len(pauses) + 1
    for number, pause in enumerate(pauses):
        longest = min(0.2 * 2**number, 10.0)
        assert 0.5 * longest <= pause <= longest
    assert sum(pauses) + 10.0 > 30.0


def test_without_time_for_retries_nothing_is_repeated(pauses: list[float]) -> None:
    client, requests = client_of(httpx.ConnectError("refused"), retry_s=0)
    with pytest.raises(ServerUnavailable):
        client.study("wing")
    assert (len(requests), pauses) == (1, [])


def test_retry_after_is_respected_or_the_request_fails(pauses: list[float]) -> None:
    client, _ = client_of(problem(429, **{"Retry-After": "7"}), STUDY_RESPONSE)
    client.study("wing")
    assert pauses == [7.0]
    client, requests = client_of(
        problem(503, **{"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}), STUDY_RESPONSE
    )
    with pytest.raises(ServerUnavailable):
        client.study("wing")
    assert len(requests) == 1


# requests and responses


def test_an_ask_waits_longer_for_its_response_than_the_server() -> None:
    client, requests = client_of(NO_JOBS)
    assert client.ask(ASK.model_copy(update={"wait_s": 50.0})).reason == "planning"
    assert requests[0].extensions["timeout"]["read"] > 50.0 + 30.0


def test_create_returns_whether_it_is_new_and_sends_what_was_written() -> None:
    client, requests = client_of(
        httpx.Response(201, json=STUDY.model_dump()), STUDY_RESPONSE
    )
    written = {
        key: EXAMPLE[key] for key in ("name", "variables", "objectives", "budget")
    }
    assert client.create_study(written).new
    assert not client.create_study(parse_specification(written)).new
    assert [json.loads(request.content) for request in requests] == [written, written]


def test_many_tells_are_sent_in_lists_and_in_smaller_ones_after_a_413() -> None:
    sizes: list[int] = []

    def respond(request: httpx.Request) -> httpx.Response:
        items = json.loads(request.content)
        sizes.append(len(items))
        if len(items) > 100:
            return problem(413)
        return httpx.Response(200, json=[TOLD | {"job": item["job"]} for item in items])

    client, _ = client_of(respond)
    told = client.tell(
        [TELL.model_copy(update={"job": number}) for number in range(1, 301)]
    )
    assert [response.job for response in told] == list(range(1, 301))
    assert sizes == [256, 128, 64, 64, 128, 64, 64, 44]


def test_a_single_tell_raises_if_it_is_refused() -> None:
    client, _ = client_of(problem(409, "result-conflict"))
    with pytest.raises(Refused) as caught:
        client.tell(TELL)
    assert caught.value.status == 409
    client, _ = client_of(problem(413))
    with pytest.raises(Refused):
        client.tell([TELL])


def test_many_leases_are_sent_in_several_requests() -> None:
    client, requests = client_of(
        lambda request: httpx.Response(
            200, json={"released": json.loads(request.content)["leases"]}
        )
    )
    leases = [f"{number:032x}" for number in range(2500)]
    assert client.release(leases) == leases
    assert len(requests) == 3


def test_all_pages_are_read_but_not_in_circles() -> None:
    client, requests = client_of(page(STUDY, following="a b"), page(STUDY))
    assert [study.name for study in client.studies()] == ["wing", "wing"]
    assert requests[1].url.params["cursor"] == "a b"
    client, _ = client_of(page(STUDY, following="a"))
    with pytest.raises(UnexpectedResponse, match="its own next page"):
        list(client.studies())


@pytest.mark.parametrize("name", ["..", "a/b", "", "?x"])
def test_an_invalid_name_is_not_sent(name: str) -> None:
    client, requests = client_of(STUDY_RESPONSE)
    with pytest.raises(ValueError, match="begins with a letter or a digit"):
        client.delete(name)
    assert requests == []


def about(title: str, version: str) -> httpx.Response:
    return httpx.Response(200, json={"info": {"title": title, "version": version}})


@pytest.mark.parametrize(
    "unexpected",
    [httpx.Response(200, json={"name": 3}), httpx.Response(200, text="<html>")],
)
def test_another_version_or_another_program_is_named(
    unexpected: httpx.Response,
) -> None:
    for openapi, message in (
        (
            about("Counterpoise", "99"),
            f"the server has version 99, this is {__version__}; install the same version",
        ),
        (
            about("Shop", "1"),
            "http://server is 'Shop', not a Counterpoise server; set COUNTERPOISE_URL",
        ),
        (about("Counterpoise", __version__), "although it has the same version"),
        (httpx.Response(404), "is it a Counterpoise server"),
    ):
        client, _ = client_of(unexpected, openapi)
        with pytest.raises(UnexpectedResponse) as caught:
            client.study("wing")
        assert message in caught.value.detail


def test_an_unknown_route_hints_at_the_version() -> None:
    client, _ = client_of(problem(404, "not-found"))
    with pytest.raises(Refused, match="Compare versions with: counterpoise doctor"):
        client.study("wing")


def test_url_and_token_are_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COUNTERPOISE_URL", "http://elsewhere:9/")
    monkeypatch.setenv("COUNTERPOISE_TOKEN", "0123456789abcdef")
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return STUDY_RESPONSE

    with Client(transport=httpx.MockTransport(handle)) as client:
        client.study("wing")
    assert str(requests[0].url) == "http://elsewhere:9/studies/wing"
    assert requests[0].headers["Authorization"] == "Bearer 0123456789abcdef"
    assert "0123456789abcdef" not in repr(client)


# the package


def test_the_package_imports_no_library_before_it_is_needed() -> None:
    code = "import sys, counterpoise; print([m for m in ('httpx', 'pydantic', 'typer', 'rich') if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_an_unknown_attribute_of_the_package() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Clinet'"):
        _ = counterpoise.Clinet


def test_a_token_can_be_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("token-of-a-file\n")
    monkeypatch.delenv("COUNTERPOISE_TOKEN", raising=False)
    monkeypatch.setenv("COUNTERPOISE_TOKEN_FILE", str(file))
    sent: list[str | None] = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers.get("Authorization"))
        return httpx.Response(502, text="<html>")

    with (
        Client(transport=httpx.MockTransport(handle), retry_s=0) as client,
        pytest.raises(ServerUnavailable, match="restarting"),
    ):
        client.study("wing")
    assert sent == ["Bearer token-of-a-file"]
    monkeypatch.setenv("COUNTERPOISE_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(RequestFailed, match="cannot be read"):
        Client()
