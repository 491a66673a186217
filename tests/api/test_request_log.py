"""Request ids and log lines, without secrets."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from fastapi.testclient import TestClient

from app.logs import configure_logs, first_line
from app.settings import load_settings
from tests.api.probe_routes import SECRET, probe_app
from tests.api.wing import LOCAL


@pytest.fixture
def backend() -> str:
    return "sqlite"  # the database makes no difference


@pytest.fixture
def client(database_url: str) -> Iterator[TestClient]:
    app = probe_app(load_settings(database_url=database_url))
    with TestClient(app, LOCAL, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def restored_logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    client_log = logging.getLogger("httpx2")  # of the test's client
    client_log.disabled = True
    yield
    client_log.disabled = False
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_a_plain_request_id_is_kept_and_any_other_is_replaced(
    client: TestClient,
) -> None:
    assert (
        client.get("/healthz", headers={"X-Request-ID": "run-17.a"}).headers[
            "x-request-id"
        ]
        == "run-17.a"
    )
    assert (
        len(
            client.get("/healthz", headers={"X-Request-ID": "a b;c"}).headers[
                "x-request-id"
            ]
        )
        == 32
    )


@pytest.mark.usefixtures("restored_logs")
def test_logs_are_json_lines_with_the_request_id(
    client: TestClient, capfd: pytest.CaptureFixture[str]
) -> None:
    configure_logs(load_settings(log_format="json", log_level="debug"))
    secret_headers = {"X-Request-ID": "abc", "Authorization": f"Bearer {SECRET}"}
    client.get(f"/healthz?token={SECRET}", headers=secret_headers)
    client.get("/broken", headers={"X-Request-ID": "def"})
    written = capfd.readouterr().err
    assert SECRET not in written
    lines = [json.loads(line) for line in written.splitlines()]
    request = next(line for line in lines if line["event"] == "request")
    assert (request["request_id"], request["level"]) == ("abc", "debug")
    assert (request["method"], request["path"], request["status"]) == (
        "GET",
        "/healthz",
        200,
    )
    failed = next(line for line in lines if line["event"] == "request failed")
    assert failed["request_id"] == "def"
    assert failed["exception"][0]["exc_type"] == "RuntimeError"


@pytest.mark.usefixtures("restored_logs")
def test_requests_are_logged_at_debug_level_unless_they_fail(
    client: TestClient, capfd: pytest.CaptureFixture[str]
) -> None:
    configure_logs(load_settings(log_format="json"))
    client.get("/healthz")
    client.get("/broken")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert [request["status"] for request in requests] == [500]


@pytest.mark.usefixtures("restored_logs")
def test_logs_can_be_for_terminals(
    client: TestClient, capfd: pytest.CaptureFixture[str]
) -> None:
    configure_logs(load_settings(log_format="pretty", log_level="debug"))
    client.get("/healthz")
    client.get("/broken", headers={"Authorization": f"Bearer {SECRET}"})
    written = capfd.readouterr().err
    assert "path" in written
    assert "RuntimeError" in written
    assert SECRET not in written


class FullDisk(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError("no space left on device")


@pytest.mark.usefixtures("restored_logs")
def test_a_log_that_cannot_be_written_raises_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr", FullDisk())
    configure_logs(load_settings())
    log = structlog.stdlib.get_logger("counterpoise.planner")
    log.info("step")
    log.error("step failed", exc_info=ZeroDivisionError())


def test_the_first_line_of_an_error_is_never_empty() -> None:
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(ValueError()) == "ValueError"
