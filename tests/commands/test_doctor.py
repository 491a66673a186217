"""The command `doctor`."""

import json
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import Result

from app.service.monitoring.doctor import examine
from app.store.database import Database
from counterpoise import __version__
from tests.commands.conftest import Run
from tests.commands.fake_api import WORKER, FakeApi, Response, page, problem

TOKEN = "0123456789abcdef"
NOT_CHECKED = (
    "not checked: database, migrations and clock;"
    " give --database-url (or COUNTERPOISE_DATABASE_URL) to check them"
)


@pytest.fixture
def healthy(api: FakeApi) -> FakeApi:
    api.responses |= {
        "GET /readyz": (200, {"status": "ready"}),
        "GET /openapi.json": (
            200,
            {"info": {"title": "Counterpoise", "version": __version__}},
        ),
        "GET /workers": page(
            WORKER, WORKER.model_copy(update={"worker": "node8", "jobs": []})
        ),
    }
    return api


def findings(result: Result) -> dict[str, tuple[str, str]]:
    return {
        item["check"]: (item["status"], item["detail"])
        for item in json.loads(result.stdout)
    }


def test_no_faults(run: Run, healthy: FakeApi) -> None:
    result = run("doctor")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"ok      server     {healthy.url} is ready",
        f"ok      version    {__version__}, the same as here",
        "ok      token      none given, and none is required",
        "ok      workers    2 seen, the last at 2026-01-01T00:00:07Z; 1 of them with jobs now",
        f"skipped database   {NOT_CHECKED}",
    ]
    assert findings(run("doctor", "--json", "--token", TOKEN))["token"] == (
        "ok",
        "accepted",
    )


def test_each_finding_is_one_line(run: Run, healthy: FakeApi) -> None:
    healthy.responses["GET /workers"] = problem(401, "a token is needed")
    assert run("doctor").stdout.splitlines()[2:-1] == [
        "fault   token      a token is needed No token was sent: set COUNTERPOISE_TOKEN, or give --token."
    ]


def test_without_a_server(run: Run) -> None:
    result = run("doctor", "--url", "http://127.0.0.1:1")
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "fault   server     cannot reach http://127.0.0.1:1: is `counterpoise serve`"
    )
    assert len(result.stdout.splitlines()) == 2


def test_without_a_database_url_the_database_is_skipped(
    run: Run, healthy: FakeApi, database_url: str
) -> None:
    assert findings(run("doctor", "--json"))["database"] == ("skipped", NOT_CHECKED)
    assert (
        findings(run("doctor", "--json", COUNTERPOISE_DATABASE_URL=""))["database"][0]
        == "skipped"
    )
    assert NOT_CHECKED not in run("doctor", "--database-url", database_url).stdout


FAULTS: list[tuple[str, Response, str, str, str]] = [
    (
        "GET /readyz",
        problem(503, "run: counterpoise migrate"),
        "server",
        "fault",
        "run: counterpoise migrate",
    ),
    ("GET /openapi.json", (404, b""), "version", "warning", "has no version"),
    ("GET /openapi.json", (200, [1]), "version", "warning", "has no version"),
    (
        "GET /openapi.json",
        (200, {"info": {"title": "Shop", "version": "1"}}),
        "version",
        "fault",
        "not a Counterpoise",
    ),
    (
        "GET /openapi.json",
        (200, {"info": {"title": "Counterpoise", "version": "99"}}),
        "version",
        "warning",
        f"the server has 99, this is {__version__}",
    ),
    (
        "GET /workers",
        problem(401, "a token is needed"),
        "token",
        "fault",
        "set COUNTERPOISE_TOKEN",
    ),
    (
        "GET /workers",
        problem(403, "not for workers"),
        "token",
        "warning",
        "accepted, but not for reading workers",
    ),
    ("GET /workers", problem(500, "broken"), "workers", "fault", "broken"),
    ("GET /workers", page(), "workers", "warning", "none has asked for jobs yet"),
]


@pytest.mark.parametrize(("path", "response", "check", "status", "message"), FAULTS)
def test_a_fault_or_a_warning_is_found(
    run: Run,
    healthy: FakeApi,
    path: str,
    response: Response,
    check: str,
    status: str,
    message: str,
) -> None:
    healthy.responses[path] = response
    result = run("doctor", "--json")
    found = findings(result)
    assert found[check][0] == status
    assert message in found[check][1]
    assert {
        name for name, (state, _) in found.items() if state not in ("ok", "skipped")
    } == {check}
    assert result.exit_code == (1 if status == "fault" else 0)


def test_the_database_is_checked(run: Run, healthy: FakeApi, database_url: str) -> None:
    result = run("doctor", "--json", "--database-url", database_url)
    assert result.exit_code == 0, result.output
    found = findings(result)
    assert [found[check][0] for check in ("database", "migrations", "clock")] == [
        "ok",
        "ok",
        "ok",
    ]
    assert (
        "is reachable"
        in findings(run("doctor", "--json", COUNTERPOISE_DATABASE_URL=database_url))[
            "database"
        ][1]
    )


def test_a_database_with_an_old_schema_is_a_fault(
    run: Run, healthy: FakeApi, empty_url: str
) -> None:
    with closing(Database(empty_url)) as database, database.read():
        pass  # now SQLite's file exists
    result = run("doctor", "--json", "--database-url", empty_url)
    assert result.exit_code == 1
    status, detail = findings(result)["migrations"]
    assert status == "fault"
    assert detail.endswith("run: counterpoise migrate")


def test_no_database_is_created(run: Run, healthy: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "none.db"
    result = run("doctor", "--json", "--database-url", f"sqlite:///{file}")
    assert result.exit_code == 1
    assert findings(result)["database"][1].startswith(f"there is no file {file} yet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "oracle://me:hidden@db/x",
            "COUNTERPOISE_DATABASE_URL is not usable: it must be sqlite:///FILE",
        ),
        ("postgresql://me:hidden@127.0.0.1:1/x", "Connection refused"),
    ],
)
def test_a_database_that_cannot_be_used(
    run: Run, healthy: FakeApi, url: str, message: str
) -> None:
    result = run("doctor", "--json", "--database-url", url)
    assert result.exit_code == 1
    assert findings(result)["database"][0] == "fault"
    assert message in findings(result)["database"][1]
    assert "hidden" not in result.output


def test_a_file_that_is_not_a_database(
    run: Run, healthy: FakeApi, tmp_path: Path
) -> None:
    (tmp_path / "x.db").write_text("hello " * 100)
    status, detail = findings(
        run("doctor", "--json", "--database-url", f"sqlite:///{tmp_path / 'x.db'}")
    )["database"]
    assert status == "fault"
    assert "not a database" in detail


@pytest.mark.parametrize(
    ("shift", "message"),
    [(3600, "behind this machine's"), (-3600, "ahead of this machine's")],
)
def test_clocks_far_apart_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, database_url: str, shift: float, message: str
) -> None:
    now = time.time
    monkeypatch.setattr("app.store.sql.clock.time.time", lambda: now() + shift)
    found = {check: (status, detail) for check, status, detail in examine(database_url)}
    assert found["clock"][0] == "warning"
    assert message in found["clock"][1]


def test_without_the_server_installed_the_command_that_installs_it_is_printed(
    run: Run, healthy: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    result = run("doctor", "--json", "--database-url", "sqlite:///x.db")
    assert result.exit_code == 0
    assert findings(result)["database"][0] == "warning"
    assert "pip install 'counterpoise[server]'" in findings(result)["database"][1]
