"""The HTTP shell: health, problems, request ids, body limit, logs."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
import structlog
from fastapi import Body
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field
from sqlalchemy import text

from app import errors
from app.api.problems import FRAMEWORK, STATUS
from app.logs import configure_logs
from app.main import create_app
from app.settings import Settings, load_settings
from app.store.database import Database
from tests.api.wing import LOCAL


class Part(BaseModel):
    low: float
    names: list[str] = Field(min_length=1)


@pytest.fixture
def settings(database_url: str) -> Settings:
    return load_settings(database_url=database_url, max_body_bytes=2000)


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    app = create_app(settings)

    @app.post("/echo")
    def echo(part: Part) -> Part:
        return part

    @app.post("/swallow")
    async def swallow(body: Annotated[dict[str, object], Body()]) -> int:
        return len(body)

    @app.get("/broken")
    def broken(limit: int = 1) -> None:
        token = "hunter2"  # local variables must not reach the log
        assert token
        raise RuntimeError(f"a secret detail {limit}")

    with TestClient(app, LOCAL, raise_server_exceptions=False) as client:
        yield client


def test_alive_and_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    assert client.get("/docs").status_code == 200


@pytest.mark.own_database
def test_not_ready_when_the_schema_is_another(client: TestClient, settings: Settings) -> None:
    database = Database(settings.database_url)
    database.write(lambda connection: connection.execute(text("DELETE FROM alembic_version")))
    database.close()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:counterpoise:problem:database-behind"
    assert "counterpoise migrate" in answer.json()["detail"]
    assert client.get("/healthz").status_code == 200


def test_not_ready_when_the_database_is_gone(tmp_path: Path) -> None:
    app = create_app(load_settings(database_url=f"sqlite:///{tmp_path}/nowhere/x.db"))
    with TestClient(app, LOCAL) as client:
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:counterpoise:problem:database-unusable")


def check_problem(answer: "object", status: int, slug: str) -> dict[str, object]:
    assert answer.status_code == status  # type: ignore[attr-defined]
    assert answer.headers["content-type"] == "application/problem+json"  # type: ignore[attr-defined]
    body: dict[str, object] = answer.json()  # type: ignore[attr-defined]
    assert body["type"] == f"urn:counterpoise:problem:{slug}"
    assert body["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]  # type: ignore[attr-defined]
    return body


def test_an_unknown_route_is_a_problem_that_says_where_the_routes_are(client: TestClient) -> None:
    body = check_problem(client.get("/nothing"), 404, "not-found")
    assert body["instance"] == "/nothing"
    assert "/docs" in str(body["detail"])


def test_a_wrong_method_is_a_problem_that_names_the_right_one(client: TestClient) -> None:
    answer = client.delete("/healthz")
    assert "it takes GET" in str(check_problem(answer, 405, "method-not-allowed")["detail"])
    assert answer.headers["allow"] == "GET, HEAD"
    assert client.put("/studies").headers["allow"] == "GET, POST"  # of two routes


def test_probes_may_ask_without_wanting_a_body(client: TestClient) -> None:
    for path in ("/healthz", "/readyz"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


def test_the_document_asks_for_a_token_only_where_there_are_some(database_url: str) -> None:
    guarded = create_app(load_settings(database_url=database_url, admin_tokens="a" * 20)).openapi()
    open_to_all = create_app(load_settings(database_url=database_url)).openapi()
    assert guarded["paths"]["/ask"]["post"]["security"] == [{"token": []}]
    assert "security" not in guarded["paths"]["/healthz"]["get"]
    assert "security" not in open_to_all["paths"]["/ask"]["post"]
    assert "securitySchemes" not in open_to_all["components"]


def test_a_brace_in_the_path_does_no_harm(client: TestClient) -> None:
    check_problem(client.get("/{0}{method.__class__}"), 404, "not-found")


def test_every_fault_of_a_body_is_listed_with_its_pointer(client: TestClient) -> None:
    body = check_problem(client.post("/echo", json={"low": "x", "names": []}), 422, "invalid-request")
    errors = body["errors"]
    assert isinstance(errors, list)
    assert [error["pointer"] for error in errors] == ["#/low", "#/names"]
    assert "valid number" in errors[0]["detail"]
    body = check_problem(client.get("/broken", params={"limit": "many"}), 422, "invalid-request")
    assert body["errors"] == [
        {
            "pointer": "query parameter limit",
            "detail": "Input should be a valid integer, unable to parse string as an integer",
        }
    ]


def test_a_body_that_is_not_json_is_said_to_be_so(client: TestClient) -> None:
    answer = client.post("/echo", content=b"{oops", headers={"content-type": "application/json"})
    body = check_problem(answer, 422, "invalid-request")
    assert "not JSON" in str(body["errors"])


def test_what_nobody_foresaw_is_a_problem_that_leaks_nothing(client: TestClient) -> None:
    answer = client.get("/broken")
    body = check_problem(answer, 500, "internal")
    assert "secret" not in answer.text
    assert str(body["request_id"]) in str(body["detail"])


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused(client: TestClient, chunked: bool) -> None:
    content = json.dumps({"a": "x" * 3000}).encode()
    sent = iter([content[:1500], content[1500:]]) if chunked else content
    answer = client.post("/swallow", content=sent, headers={"content-type": "application/json"})
    assert "2000 bytes" in str(check_problem(answer, 413, "content-too-large")["detail"])
    assert client.post("/swallow", json={"a": "x" * 1500}).json() == 1


def test_a_sane_request_id_is_kept_and_another_is_replaced(client: TestClient) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": "run-17.a"}).headers["x-request-id"] == "run-17.a"
    assert len(client.get("/healthz", headers={"X-Request-ID": "a b;c"}).headers["x-request-id"]) == 32


@pytest.fixture
def _restored_logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logging.getLogger("httpx2").disabled = True  # the test's own client
    yield
    logging.getLogger("httpx2").disabled = False
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.usefixtures("_restored_logs")
def test_logs_are_json_lines_with_the_request_id(client: TestClient, capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs(load_settings(log_format="json"))
    client.get("/healthz?token=hunter2", headers={"X-Request-ID": "abc", "Authorization": "Bearer hunter2"})
    client.get("/broken", headers={"X-Request-ID": "def"})
    written = capfd.readouterr().err
    lines = [json.loads(line) for line in written.splitlines()]
    requests = {line["request_id"]: line for line in lines if line["event"] == "request"}
    assert {name: requests["abc"][name] for name in ("method", "path", "status", "level")} == {
        "method": "GET",
        "path": "/healthz",
        "status": 200,
        "level": "info",
    }
    failed = next(line for line in lines if line["event"] == "request failed")
    assert failed["request_id"] == "def"
    assert failed["exception"][0]["exc_type"] == "RuntimeError"
    assert "hunter2" not in written


@pytest.mark.usefixtures("_restored_logs")
def test_logs_can_be_pretty(client: TestClient, capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs(load_settings(log_format="pretty"))
    client.get("/healthz")
    client.get("/broken", headers={"Authorization": "Bearer hunter2"})
    written = capfd.readouterr().err
    assert "path" in written
    assert "RuntimeError" in written
    assert "hunter2" not in written


class FullDisk(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError("no space left on device")


@pytest.mark.usefixtures("_restored_logs")
def test_a_log_that_cannot_be_written_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", FullDisk())
    configure_logs(load_settings())
    log = structlog.stdlib.get_logger("counterpoise.planner")
    log.info("step")
    log.error("the planner goes on after a fault", exc_info=ZeroDivisionError())


def test_every_error_has_its_answer() -> None:
    """SettingsInvalid stops the start; no request can meet it."""
    known = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert known - {errors.CounterpoiseError, errors.SettingsInvalid} == set(STATUS)
    assert len({slug for _, slug, _ in STATUS.values()}) == len(STATUS)


def test_every_type_of_problem_is_documented() -> None:
    documented = Path(__file__).parents[2].joinpath("docs/operations.md").read_text()
    slugs = {slug for _, slug, _ in STATUS.values()} | {slug for slug, _ in FRAMEWORK.values()}
    for slug in slugs | {"invalid-request", "invalid-specification", "internal"}:
        assert f"| `{slug}` |" in documented, slug
