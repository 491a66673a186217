"""The client: what it says, what it says again, and what it makes of answers."""

import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.house.test_study_commands import FRONT, STUDY, WORKER

import counterpoise
from counterpoise import Client, RequestFailed, __version__
from counterpoise.errors import Refused, ServerUnavailable, UnexpectedResponse
from counterpoise.wire.problems import Fault, Problem
from counterpoise.wire.specification import EXAMPLE, parse_specification
from counterpoise.wire.views import JobStory
from counterpoise.wire.work import Ask, Tell

LEASE = "0123456789abcdef0123456789abcdef"
ASK = Ask(worker="me", studies=["wing"], objectives=["mass"])
TELL = Tell(job=17, lease=LEASE, value=3.25)
TOLD = {"job": 17, "status": 200, "state": "done", "detail": "recorded"}
Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No test waits; the clock goes on by what would have been waited."""
    waited: list[float] = []
    monkeypatch.setattr("counterpoise.client.connection.time.sleep", waited.append)
    monkeypatch.setattr("counterpoise.client.connection.time.monotonic", lambda: sum(waited))
    for name in ("COUNTERPOISE_URL", "COUNTERPOISE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return waited


def talking(*answers: Answer | httpx.Response | Exception, retry_s: float = 60.0) -> tuple[Client, list[httpx.Request]]:
    """A client whose server gives these answers, the last one for ever; and what it was asked."""
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        answer = answers[min(len(asked), len(answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer

    return Client("http://server", retry_s=retry_s, transport=httpx.MockTransport(handle)), asked


def problem(status: int, slug: str = "x", *errors: Fault, **headers: str) -> httpx.Response:
    kind = f"urn:counterpoise:problem:{slug}"
    body = Problem(type=kind, title="t", status=status, detail="why", instance="/", request_id="r", errors=[*errors])
    return httpx.Response(status, json=body.model_dump(), headers=headers)


def page(*items: Any, following: str | None = None) -> httpx.Response:
    return httpx.Response(200, json={"items": [item.model_dump() for item in items], "next": following})


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
STUDY_ANSWER = httpx.Response(200, json=STUDY.model_dump())
TOLD_ANSWER = httpx.Response(200, json=TOLD)
NO_JOBS = httpx.Response(200, json={"jobs": [], "reason": "planning", "detail": "d", "retry_after_s": 1.0})
SAFE: dict[str, tuple[Callable[[Client], Any], httpx.Response]] = {
    "GET /studies/wing": (lambda client: client.study("wing"), STUDY_ANSWER),
    "GET /studies?limit=1000": (lambda client: list(client.studies()), page()),
    "GET /studies/wing/samples?limit=1000&full=true": (lambda client: list(client.samples("wing", full=True)), page()),
    "GET /studies/wing/jobs?limit=1000&objective=mass&state=failed": (
        lambda client: list(client.jobs("wing", objective="mass", state="failed")),
        page(),
    ),
    "GET /studies/wing/steps?limit=1000": (lambda client: list(client.steps("wing")), page()),
    "GET /studies/wing/front?limit=1000": (lambda client: client.front("wing"), page(*FRONT)),
    "GET /workers?limit=1000": (lambda client: list(client.workers()), page(WORKER)),
    "GET /jobs/17": (lambda client: client.explain(17), httpx.Response(200, json=STORY.model_dump())),
    "POST /workers/drain": (lambda client: client.drain("node7"), httpx.Response(200, json=WORKER.model_dump())),
    "POST /workers/undrain": (lambda client: client.undrain("node7"), httpx.Response(200, json=WORKER.model_dump())),
    "POST /studies": (lambda client: client.create_study(EXAMPLE), STUDY_ANSWER),
    "POST /studies?paused=true": (lambda client: client.create_study(EXAMPLE, paused=True), STUDY_ANSWER),
    "POST /studies/wing/pause": (lambda client: client.pause("wing"), STUDY_ANSWER),
    "POST /studies/wing/resume": (lambda client: client.resume("wing"), STUDY_ANSWER),
    "POST /studies/wing/stop": (lambda client: client.stop("wing", cancel_running=True), STUDY_ANSWER),
    "POST /tell": (lambda client: client.tell(TELL), TOLD_ANSWER),
    "POST /heartbeat": (lambda client: client.heartbeat([LEASE]), httpx.Response(200, json={"leases": []})),
    "POST /release": (lambda client: client.release([LEASE]), httpx.Response(200, json={"released": [LEASE]})),
}
ONCE: dict[str, tuple[Callable[[Client], Any], httpx.Response]] = {
    "POST /ask": (lambda client: client.ask(ASK), NO_JOBS),
    "POST /studies/wing/extend": (lambda client: client.extend("wing", 90), STUDY_ANSWER),
    "POST /studies/wing/retry": (lambda client: client.retry("wing", ["mass"]), httpx.Response(200, json={"jobs": 3})),
    "DELETE /studies/wing?force=true": (lambda client: client.delete("wing", force=True), httpx.Response(204)),
}
LOST = [httpx.ReadError("reset"), httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("cut")]


def line(request: httpx.Request) -> str:
    return f"{request.method} {request.url.raw_path.decode()}"


@pytest.mark.parametrize("what", [*SAFE, *ONCE])
@pytest.mark.parametrize("trouble", [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow"), problem(429)])
def test_what_was_not_heard_is_said_again(what: str, trouble: Any) -> None:
    call, answer = (SAFE | ONCE)[what]
    client, asked = talking(trouble, trouble, answer)
    call(client)
    assert [line(request) for request in asked] == [what] * 3
    assert len({request.content for request in asked}) == 1


@pytest.mark.parametrize("what", SAFE)
@pytest.mark.parametrize("trouble", [*LOST, *map(problem, (502, 503, 504)), httpx.Response(502, text="<html>")])
def test_what_may_have_been_heard_is_said_again_where_that_is_safe(what: str, trouble: Any) -> None:
    call, answer = SAFE[what]
    client, asked = talking(trouble, trouble, answer)
    call(client)
    assert len(asked) == 3


@pytest.mark.parametrize("what", ONCE)
@pytest.mark.parametrize("trouble", [*LOST, *map(problem, (502, 503, 504))])
def test_what_may_have_been_heard_is_not_said_again_elsewhere(what: str, trouble: Any) -> None:
    call, _ = ONCE[what]
    client, asked = talking(trouble)
    with pytest.raises(ServerUnavailable):
        call(client)
    assert len(asked) == 1


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500])
def test_a_refusal_is_not_argued_with(status: int, pauses: list[float]) -> None:
    client, asked = talking(problem(status, "x", Fault(pointer="#/budget", detail="too small")))
    with pytest.raises(Refused) as caught:
        client.study("wing")
    assert (len(asked), pauses) == (1, [])
    assert (caught.value.status, caught.value.detail) == (status, "why\n  #/budget: too small")
    assert [fault.pointer for fault in caught.value.faults] == ["#/budget"]


def test_pauses_grow_and_end_when_the_time_is_over(pauses: list[float]) -> None:
    client, asked = talking(httpx.ConnectError("refused"), retry_s=30.0)
    with pytest.raises(ServerUnavailable, match=r"cannot reach http://server: is `counterpoise serve` running\?"):
        client.study("wing")
    assert sum(pauses) <= 30.0
    assert len(asked) == len(pauses) + 1
    assert all(0.5 * (limit := min(0.2 * 2**n, 10.0)) <= pause <= limit for n, pause in enumerate(pauses))
    assert sum(pauses) + 10.0 > 30.0


def test_without_time_nothing_is_said_again(pauses: list[float]) -> None:
    client, asked = talking(httpx.ConnectError("refused"), retry_s=0)
    with pytest.raises(ServerUnavailable):
        client.study("wing")
    assert (len(asked), pauses) == (1, [])


def test_retry_after_is_obeyed_or_given_up(pauses: list[float]) -> None:
    client, _ = talking(problem(429, **{"Retry-After": "7"}), STUDY_ANSWER)
    client.study("wing")
    assert pauses == [7.0]
    client, asked = talking(problem(503, **{"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}), STUDY_ANSWER)
    with pytest.raises(ServerUnavailable):
        client.study("wing")
    assert len(asked) == 1


# what is said and heard


def test_an_ask_waits_for_its_answer_longer_than_the_server() -> None:
    client, asked = talking(NO_JOBS)
    assert client.ask(ASK.model_copy(update={"wait_s": 50.0})).reason == "planning"
    assert asked[0].extensions["timeout"]["read"] > 50.0 + 30.0


def test_create_says_whether_it_is_new_and_sends_what_was_written() -> None:
    client, asked = talking(httpx.Response(201, json=STUDY.model_dump()), STUDY_ANSWER)
    written = {key: EXAMPLE[key] for key in ("name", "variables", "objectives", "budget")}
    assert client.create_study(written).new
    assert not client.create_study(parse_specification(written)).new
    assert [json.loads(request.content) for request in asked] == [written, written]


def test_many_tells_go_in_lists_and_smaller_ones_where_the_server_has_less_room() -> None:
    sizes: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        items = json.loads(request.content)
        sizes.append(len(items))
        if len(items) > 100:
            return problem(413)
        return httpx.Response(200, json=[TOLD | {"job": item["job"]} for item in items])

    client, _ = talking(answer)
    told = client.tell([TELL.model_copy(update={"job": number}) for number in range(1, 301)])
    assert [each.job for each in told] == list(range(1, 301))
    assert sizes == [256, 128, 64, 64, 128, 64, 64, 44]


def test_one_tell_alone_may_be_refused() -> None:
    client, _ = talking(problem(409, "result-conflict"))
    with pytest.raises(Refused) as caught:
        client.tell(TELL)
    assert caught.value.status == 409
    client, _ = talking(problem(413))
    with pytest.raises(Refused):
        client.tell([TELL])


def test_many_leases_go_in_parts() -> None:
    client, asked = talking(
        lambda request: httpx.Response(200, json={"released": json.loads(request.content)["leases"]})
    )
    leases = [f"{number:032x}" for number in range(2500)]
    assert client.release(leases) == leases
    assert len(asked) == 3


def test_pages_are_followed_but_not_in_circles() -> None:
    client, asked = talking(page(STUDY, following="a b"), page(STUDY))
    assert [found.name for found in client.studies()] == ["wing", "wing"]
    assert asked[1].url.params["cursor"] == "a b"
    client, _ = talking(page(STUDY, following="a"))
    with pytest.raises(UnexpectedResponse, match="leads to itself"):
        list(client.studies())


@pytest.mark.parametrize("name", ["..", "a/b", "", "?x"])
def test_a_name_that_no_study_has_is_not_sent(name: str) -> None:
    client, asked = talking(STUDY_ANSWER)
    with pytest.raises(ValueError, match="begins with a letter or a digit"):
        client.delete(name)
    assert asked == []


def about(title: str, version: str) -> httpx.Response:
    return httpx.Response(200, json={"info": {"title": title, "version": version}})


@pytest.mark.parametrize("strange", [httpx.Response(200, json={"name": 3}), httpx.Response(200, text="<html>")])
def test_another_version_or_another_program_is_named(strange: httpx.Response) -> None:
    for said, words in (
        (about("Counterpoise", "99"), f"the server has version 99, this is {__version__}; install the same version"),
        (about("Shop", "1"), "http://server is 'Shop', not a Counterpoise server; set COUNTERPOISE_URL"),
        (about("Counterpoise", __version__), "although it has the same version"),
        (httpx.Response(404), "is it a Counterpoise server"),
    ):
        client, _ = talking(strange, said)
        with pytest.raises(UnexpectedResponse) as caught:
            client.study("wing")
        assert words in caught.value.detail


def test_a_route_that_is_not_there_hints_at_the_version() -> None:
    client, _ = talking(problem(404, "not-found"))
    with pytest.raises(Refused, match="Compare versions with: counterpoise doctor"):
        client.study("wing")


def test_url_and_token_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOISE_URL", "http://elsewhere:9/")
    monkeypatch.setenv("COUNTERPOISE_TOKEN", "0123456789abcdef")
    asked: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return STUDY_ANSWER

    with Client(transport=httpx.MockTransport(handle)) as client:
        client.study("wing")
    assert str(asked[0].url) == "http://elsewhere:9/studies/wing"
    assert asked[0].headers["Authorization"] == "Bearer 0123456789abcdef"
    assert "0123456789abcdef" not in repr(client)


# proxies and certificates


class Proxy(BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        content = json.dumps(STUDY.model_dump()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_CONNECT(self) -> None:
        self.seen.append(self.path)
        self.send_error(502)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    handler = type("Handler", (Proxy,), {"seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_proxies_of_the_environment_are_used_but_not_for_loopback(
    listener: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = listener.RequestHandlerClass.seen  # type: ignore[attr-defined]
    proxy = f"http://127.0.0.1:{listener.server_port}"
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setenv("NO_PROXY", "inside.invalid")
    with Client("http://outside.invalid", retry_s=0) as client:
        assert client.study("wing").name == "wing"
    with Client("https://outside.invalid", retry_s=0) as client, pytest.raises(ServerUnavailable, match="502"):
        client.study("wing")
    with Client("http://inside.invalid", retry_s=0) as client, pytest.raises(ServerUnavailable):
        client.study("wing")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with Client(proxy, retry_s=0) as client:
        client.study("wing")
    assert seen == ["http://outside.invalid/studies/wing", "outside.invalid:443", "/studies/wing"]


def test_a_private_certificate_is_trusted_when_the_environment_says_so(
    listener: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files: list[str | Path] = ["-keyout", key, "-out", certificate, "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*make, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    url = f"https://127.0.0.1:{listener.server_port}"
    with Client(url, retry_s=60) as client, pytest.raises(RequestFailed, match="set SSL_CERT_FILE") as caught:
        client.study("wing")
    assert not isinstance(caught.value, ServerUnavailable)  # and so it is not tried again
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Client(url, retry_s=0) as client:
        assert client.study("wing").name == "wing"


@pytest.mark.parametrize(("name", "value"), [("SSL_CERT_FILE", "/no/such/file"), ("HTTPS_PROXY", "gopher://x")])
def test_an_environment_that_cannot_be_used_is_said(
    listener: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(RequestFailed, match=f"{name}.* in the environment cannot be used"):
        Client("https://outside.invalid")


def test_threads_share_one_client(listener: ThreadingHTTPServer) -> None:
    url = f"http://127.0.0.1:{listener.server_port}"
    with Client(url) as client, ThreadPoolExecutor(8) as pool:
        assert {found.name for found in pool.map(client.study, ["wing"] * 40)} == {"wing"}


# the package


def test_importing_the_package_loads_neither_client_nor_shapes() -> None:
    code = "import sys, counterpoise; print([m for m in ('httpx', 'pydantic', 'typer', 'rich') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_what_the_package_does_not_have() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Clinet'"):
        _ = counterpoise.Clinet
