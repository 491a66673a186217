"""`study …` and `doctor`, against a small server that answers as the real one does and remembers what it was asked."""

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from app.service.monitoring import doctor
from app.store.database import Database, open_existing
from counterpoise import __version__
from counterpoise.cli import app
from counterpoise.commands.study.tables import study_panel
from counterpoise.wire.problems import Fault, Problem
from counterpoise.wire.specification import EXAMPLE
from counterpoise.wire.views import (
    FrontItem,
    HealthItem,
    Hypervolume,
    ObjectiveView,
    Retried,
    StudySummary,
    StudyView,
    WorkerView,
)

TOKEN = "0123456789abcdef"
COMMANDS = [
    "watch",
    "create",
    "list",
    "show",
    "pause",
    "resume",
    "stop",
    "extend",
    "retry",
    "front",
    "delete",
    "import",
]


def objective(name: str, **given: Any) -> ObjectiveView:
    counts = {"ready": 1, "leased": 2, "done": 33, "failed": 4, "superseded": 5}
    usual: dict[str, Any] = {"direction": "minimize", "unit": None, "same_run_as": None, "cheap": False, "ratio": 1.0}
    return ObjectiveView(name=name, **{**usual, "median_duration_s": None, **counts, **given})


STUDY = StudyView(
    name="wing",
    phase="search",
    state="active",
    step=7,
    evaluated_full=33,
    planned_full=36,
    budget=60,
    created_at="2026-01-01T00:00:00Z",
    finished_at=None,
    objectives=[
        objective("mass", cheap=True, ratio=20.0, median_duration_s=0.0123),
        objective("drag", unit="N"),
        objective("lift", direction="maximize", same_run_as="drag"),
    ],
    ratio_source="declared",
    hypervolume=Hypervolume(value=0.8125, reference_point={"mass": 3.5, "drag": 12.0}, step=6, exact=False),
    health=[
        HealthItem(
            code="no_worker",
            detail="objective drag [bold]: 6 jobs have waited 3 min and no live worker can evaluate it",
        )
    ],
    spec=EXAMPLE,
)
FRONT = [FrontItem(sample=i, step="search:2", x={"a": i, "b": 0.5}, values={"mass": i / 3, "a": 7.5}) for i in range(3)]
WORKER = WorkerView(worker="node7", first_seen_at="2026-01-01T00:00:00Z", last_seen_at="2026-01-01T00:00:07Z", jobs=[5])


def problem(status: int, detail: str, *errors: Fault) -> tuple[int, Any]:
    body = Problem(
        type="urn:x", title="t", status=status, detail=detail, instance="/", request_id="r", errors=[*errors]
    )
    return status, body.model_dump()


def page(*items: Any, following: str | None = None) -> tuple[int, Any]:
    return 200, {"items": [item.model_dump() for item in items], "next": following}


@dataclass
class Fake:
    """Answers by method and path (with the query, if that is known); keeps method, path, body and token of each."""

    url: str = ""
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)

    def answer(self, method: str, path: str, body: Any, token: str | None) -> tuple[int, Any]:
        self.asked.append((f"{method} {path}", body))
        self.tokens.append(token)
        plain = f"{method} {path.partition('?')[0]}"
        return self.answers.get(f"{method} {path}", self.answers.get(plain, problem(404, f"nothing at {plain}")))


@pytest.fixture
def server() -> Iterator[Fake]:
    fake = Fake()

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(sent) if sent else None
            status, answer = fake.answer(self.command, self.path, body, self.headers.get("Authorization"))
            content = b"" if status == 204 else answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = reply  # noqa: N815  (the library's names)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        fake.url = f"http://127.0.0.1:{listener.server_port}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield fake
        listener.shutdown()
        thread.join()


Run = Callable[..., Result]


@pytest.fixture
def run(server: Fake) -> Run:
    def invoke(*arguments: str, stdin: str | None = None, **environment: str) -> Result:
        names = ("COUNTERPOISE_TOKEN", "COUNTERPOISE_DATABASE_URL", "COLUMNS")
        environ = {**dict.fromkeys(names), "COUNTERPOISE_URL": server.url, **environment}
        return CliRunner().invoke(app, [*arguments], input=stdin, env=environ)

    return invoke


def write(folder: Path, text: str) -> str:
    file = folder / "study.yaml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize("command", [*(f"study {each}" for each in COMMANDS), "doctor", "replay", "explain"])
def test_every_command_has_help_with_an_example_and_json(run: Run, command: str) -> None:
    shown = run(*command.split(), "--help").output
    assert f"Example: counterpoise {command}" in shown
    assert "--json" in shown


# create


@pytest.mark.parametrize(("status", "says"), [(201, "study wing created;"), (200, "was there already, with the same")])
def test_create_sends_what_was_written(run: Run, server: Fake, tmp_path: Path, status: int, says: str) -> None:
    server.answers["POST /studies"] = (status, STUDY.model_dump())
    written = {key: EXAMPLE[key] for key in ("name", "variables", "objectives", "budget")}
    file = write(tmp_path, json.dumps(written, indent="\t"))
    result = run("study", "create", file)
    assert result.exit_code == 0, result.output
    assert says in result.stdout
    assert server.asked == [("POST /studies", written)]
    assert json.loads(run("study", "create", file, "--json").stdout) == STUDY.model_dump()
    assert run("study", "create", "-", stdin=json.dumps(EXAMPLE)).exit_code == 0
    assert server.asked[-1] == ("POST /studies", EXAMPLE)


YAML = """
# 1e-4, 1E3, +2 and 010 are numbers; no, 1:30, 2026-01-01 and y are texts
name: 2026-01-01
variables:
  - &a {name: no, low: 1e-4, high: 1E3, scale: log}
  - {name: y, type: int, low: +2, high: 010}
  - {<<: *a, name: b, low: .5, high: 1_0}
objectives:
  - name: on
    unit: 1:30
budget: 0x40
seed: null
ratios: ~
notes:
"""


def test_yaml_means_what_it_looks_like(run: Run, server: Fake, tmp_path: Path) -> None:
    result = run("study", "create", write(tmp_path, YAML))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[1:] == [
        "  #/variables/2/high: Input should be a valid number",
        "  #/notes: Input should be a valid string",
    ]
    server.answers["POST /studies"] = (201, STUDY.model_dump())
    repaired = YAML.replace("1_0", "10").replace("notes:", "notes: 'no'")
    assert run("study", "create", write(tmp_path, repaired)).exit_code == 0
    assert server.asked == [
        (
            "POST /studies",
            {
                "name": "2026-01-01",
                "variables": [
                    {"name": "no", "low": 0.0001, "high": 1000.0, "scale": "log"},
                    {"name": "y", "type": "int", "low": 2, "high": 10},
                    {"name": "b", "low": 0.5, "high": 10, "scale": "log"},
                ],
                "objectives": [{"name": "on", "unit": "1:30"}],
                "budget": 64,
                "seed": None,
                "ratios": None,
                "notes": "no",
            },
        )
    ]


def test_create_lists_every_fault_and_sends_nothing(run: Run, server: Fake, tmp_path: Path) -> None:
    bad = {**EXAMPLE, "budget": 3, "strategy": "sbp", "batchsize": 4}
    result = run("study", "create", write(tmp_path, json.dumps(bad)))
    assert result.exit_code == 2
    assert "is not a valid specification" in result.stderr
    for line in (
        "#/strategy: must be one of",
        "#/batchsize: there is no such field; did you mean",
        "#/budget: the budget",
    ):
        assert line in result.stderr
    assert server.asked == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"name": "a"', "neither JSON nor YAML: Expecting ',' delimiter: line 1 column 13"),
        ("{name: a}", "#/budget: is required"),
        ("a: [", "neither JSON nor YAML: while parsing"),
        ("name: !!binary aGk=", "could not determine a constructor"),
        ("name: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("[" * 2000, "neither JSON nor YAML"),
        ("", "a specification is an object"),
    ],
)
def test_create_refuses_what_is_no_document(run: Run, server: Fake, tmp_path: Path, text: str, says: str) -> None:
    result = run("study", "create", write(tmp_path, text))
    assert (result.exit_code, server.asked) == (2, [])
    assert says in result.stderr
    assert "Traceback" not in result.output


def test_create_without_a_readable_file(run: Run, tmp_path: Path) -> None:
    assert "cannot read nowhere.yaml: No such file" in run("study", "create", "nowhere.yaml").stderr
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    result = run("study", "create", str(tmp_path / "binary"))
    assert result.exit_code == 2
    assert "it is not UTF-8 text" in result.stderr


def test_a_refusal_is_said_with_all_its_faults(run: Run, server: Fake, tmp_path: Path) -> None:
    file = write(tmp_path, json.dumps(EXAMPLE))
    faults = [Fault(pointer="#/a", detail="is [red]odd[/red]"), Fault(pointer="#/b", detail="is even")]
    server.answers["POST /studies"] = problem(422, "2 faults", *faults)
    result = run("study", "create", file)
    assert result.exit_code == 1
    assert result.stderr == "Error: 2 faults\n  #/a: is [red]odd[/red]\n  #/b: is even\n"
    server.answers["POST /studies"] = problem(409, "there is a study 'wing' with another specification")
    assert run("study", "create", file).stderr == "Error: there is a study 'wing' with another specification\n"


# looking


def test_list_follows_the_pages(run: Run, server: Fake) -> None:
    second = STUDY.model_copy(update={"name": "tail", "state": "paused"})
    server.answers |= {
        "GET /studies": page(STUDY, following="a b"),
        "GET /studies?limit=1000&cursor=a+b": page(second),
    }
    result = run("study", "list")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines() if "search" in line]
    assert rows == [
        ["wing", "search", "active", "7", "33", "60", STUDY.created_at],
        ["tail", "search", "paused", "7", "33", "60", STUDY.created_at],
    ]
    listed = json.loads(run("study", "list", "--json").stdout)
    summaries = [StudySummary(**each.model_dump()).model_dump() for each in (STUDY, second)]
    assert listed == {"items": summaries, "next": None}


def test_list_without_studies_says_how_to_make_one(run: Run, server: Fake) -> None:
    server.answers["GET /studies"] = page()
    assert "counterpoise study create FILE" in run("study", "list").stdout


def test_show(run: Run, server: Fake) -> None:
    server.answers["GET /studies/wing"] = (200, STUDY.model_dump())
    shown = run("study", "show", "wing").stdout
    assert "wing · search · active · step 7" in shown
    assert "33 of 60 full samples evaluated, 36 planned" in shown
    lines = [line.strip("│ ").split() for line in shown.splitlines()]
    heading = next(i for i, line in enumerate(lines) if line[:2] == ["objective", "goal"])
    rows = lines[heading + 1 : heading + 4]
    assert rows == [
        ["mass", "min", "cheap", "20", "0.0123", "1", "2", "33", "4", "5"],
        ["drag", "[N]", "min", "1", "1", "2", "33", "4", "5"],
        ["lift", "(run", "of", "drag)", "max"],
    ]
    assert "hypervolume: about 0.8125 at step 6 (against mass 3.5, drag 12)" in shown
    assert "! objective drag [bold]: 6 jobs have waited 3 min" in shown
    assert json.loads(run("study", "show", "wing", "--json").stdout) == STUDY.model_dump()


def test_show_fits_into_80_columns() -> None:
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as screen:
        console.print(study_panel(STUDY))
    assert "ready leased done failed superseded" in screen.get()


def test_show_a_healthy_young_study(run: Run, server: Fake) -> None:
    young = STUDY.model_copy(update={"hypervolume": None, "health": [], "evaluated_full": 0, "phase": "initial"})
    server.answers["GET /studies/wing"] = (200, young.model_dump())
    shown = run("study", "show", "wing").stdout
    assert "hypervolume: none yet" in shown
    assert "all is well" in shown


def test_front_in_a_pipe_loses_no_column(run: Run, server: Fake) -> None:
    server.answers |= {
        "GET /studies/wing/front": page(*FRONT[:2], following="2"),
        "GET /studies/wing/front?limit=1000&cursor=2": page(FRONT[2]),
    }
    lines = [line.split() for line in run("study", "front", "wing").stdout.splitlines() if line.strip()]
    # An objective and a variable may have the same name.
    assert lines[0] == ["sample", "step", "mass", "a", "a", "b"]
    assert lines[-1] == ["2", "search:2", "0.666667", "7.5", "2", "0.5"]
    assert json.loads(run("study", "front", "wing", "--json").stdout)["items"] == [item.model_dump() for item in FRONT]


def test_no_front_yet(run: Run, server: Fake) -> None:
    server.answers["GET /studies/wing/front"] = page()
    assert "has no front yet" in run("study", "front", "wing").stdout


# steering


@pytest.mark.parametrize(
    ("arguments", "path", "body"),
    [
        (["pause", "wing"], "POST /studies/wing/pause", None),
        (["resume", "wing"], "POST /studies/wing/resume", None),
        (["stop", "wing"], "POST /studies/wing/stop", {"cancel_running": False}),
        (["stop", "wing", "--cancel-running"], "POST /studies/wing/stop", {"cancel_running": True}),
        (["extend", "wing", "120"], "POST /studies/wing/extend", {"budget": 120}),
    ],
)
def test_steering(run: Run, server: Fake, arguments: list[str], path: str, body: object) -> None:
    server.answers[path] = (200, STUDY.model_dump())
    assert run("study", *arguments).stdout == "study wing: search, active; 33 of 60 full samples evaluated\n"
    assert server.asked == [(path, body)]
    assert json.loads(run("study", *arguments, "--json").stdout) == STUDY.model_dump()


def test_retry_all_or_some(run: Run, server: Fake) -> None:
    server.answers["POST /studies/wing/retry"] = (200, Retried(jobs=1).model_dump())
    assert run("study", "retry", "wing").stdout == "study wing: 1 failed job is ready again\n"
    run("study", "retry", "wing", "--objective", "mass", "--objective", "drag")
    assert [body for _, body in server.asked] == [{"objectives": None}, {"objectives": ["mass", "drag"]}]
    assert json.loads(run("study", "retry", "wing", "--json").stdout) == {"jobs": 1}


def test_delete_asks_first(run: Run, server: Fake) -> None:
    server.answers |= {"GET /studies/wing": (200, STUDY.model_dump()), "DELETE /studies/wing": (204, None)}
    refused = run("study", "delete", "wing", stdin="n\n")
    assert refused.exit_code == 1
    assert "Delete study wing with 33 evaluated full samples? It cannot be undone" in refused.stderr
    assert run("study", "delete", "wing", stdin="").exit_code == 1
    assert [path for path, _ in server.asked if "DELETE" in path] == []
    assert run("study", "delete", "wing", stdin="y\n").stdout.endswith("study wing deleted\n")
    assert server.asked[-1] == ("DELETE /studies/wing?force=false", None)


def test_delete_without_asking(run: Run, server: Fake) -> None:
    server.answers["DELETE /studies/wing"] = (204, None)
    assert json.loads(run("study", "delete", "wing", "--yes", "--force", "--json").stdout) == {"deleted": "wing"}
    assert server.asked == [("DELETE /studies/wing?force=true", None)]
    server.answers["DELETE /studies/wing"] = problem(409, "3 jobs of it are leased; use force")
    refused = run("study", "delete", "wing", "-y")
    assert (refused.exit_code, refused.stderr) == (1, "Error: 3 jobs of it are leased; use force\n")


@pytest.mark.parametrize("name", ["..", "a/b", "", "é"])
def test_a_name_that_no_study_has_is_wrong_usage(run: Run, server: Fake, name: str) -> None:
    result = run("study", "delete", name, "--yes")
    assert (result.exit_code, server.asked) == (2, [])
    assert "begins with" in result.stderr


# the server


def test_the_token_goes_along_from_the_option_or_the_environment(run: Run, server: Fake) -> None:
    server.answers["GET /studies"] = page()
    run("study", "list")
    run("study", "list", "--token", TOKEN)
    run("study", "list", COUNTERPOISE_TOKEN=TOKEN)
    assert server.tokens == [None, f"Bearer {TOKEN}", f"Bearer {TOKEN}"]


def test_without_a_token_a_401_says_where_to_put_it(run: Run, server: Fake) -> None:
    server.answers["GET /studies"] = problem(401, "a token is needed")
    assert run("study", "list").stderr == "Error: a token is needed\nSet COUNTERPOISE_TOKEN, or give --token.\n"
    assert run("study", "list", "--token", TOKEN).stderr == "Error: a token is needed\n"


def test_a_broken_token_is_not_shown(run: Run, server: Fake) -> None:
    result = run("study", "list", "--token", f"{TOKEN}\n")
    assert (result.exit_code, server.asked) == (1, [])
    assert "check COUNTERPOISE_TOKEN" in result.stderr
    assert TOKEN not in result.output


def test_a_server_that_is_away(run: Run) -> None:
    result = run("study", "list", "--url", "http://127.0.0.1:1/")
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "Error: cannot reach http://127.0.0.1:1: is `counterpoise serve` running? set COUNTERPOISE_URL"
    )
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("url", ["localhost:8000", "127.0.0.1:8000", "ftp://127.0.0.1"])
def test_what_is_no_url(run: Run, url: str) -> None:
    result = run("study", "list", "--url", url)
    assert result.exit_code == 1
    assert f"'{url}' is not a URL such as http://127.0.0.1:8000" in result.stderr


def test_a_proxy_for_the_world_is_not_asked_for_loopback(run: Run, server: Fake) -> None:
    server.answers["GET /studies"] = page()
    assert run("study", "list", HTTP_PROXY="http://127.0.0.1:1", http_proxy="http://127.0.0.1:1").exit_code == 0


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, b"<html>"), "did not answer with JSON; is it a Counterpoise server?"),
        ((200, [1]), "is not what this version expects; is it a Counterpoise server?"),
        ((502, b"<html>"), "answered 502 Bad Gateway; is COUNTERPOISE_URL right?"),
        ((307, b""), "answered 307 Temporary Redirect"),
        ((200, {"items": [{"name": 3}], "next": None}), "compare versions with: counterpoise doctor"),
    ],
)
def test_an_answer_that_is_not_ours(run: Run, server: Fake, answer: tuple[int, Any], says: str) -> None:
    server.answers["GET /studies"] = answer
    result = run("study", "list")
    assert result.exit_code == 1
    assert says in result.stderr
    assert "Traceback" not in result.output


# doctor


NOT_LOOKED_AT = (
    "not looked at: database, migrations and clock; give --database-url (or COUNTERPOISE_DATABASE_URL) to check them"
)


@pytest.fixture
def healthy(server: Fake) -> Fake:
    server.answers |= {
        "GET /readyz": (200, {"status": "ready"}),
        "GET /openapi.json": (200, {"info": {"title": "Counterpoise", "version": __version__}}),
        "GET /workers": page(WORKER, WORKER.model_copy(update={"worker": "node8", "jobs": []})),
    }
    return server


def findings(result: Result) -> dict[str, tuple[str, str]]:
    return {each["check"]: (each["status"], each["detail"]) for each in json.loads(result.stdout)}


def test_doctor_when_all_is_well(run: Run, healthy: Fake) -> None:
    result = run("doctor")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"ok      server     {healthy.url} is ready",
        f"ok      version    {__version__}, the same as here",
        "ok      token      none given, and none is needed",
        "ok      workers    2 seen, the last at 2026-01-01T00:00:07Z; 1 of them with jobs now",
        f"skipped database   {NOT_LOOKED_AT}",
    ]
    assert findings(run("doctor", "--json", "--token", TOKEN))["token"] == ("ok", "accepted")


def test_doctor_says_each_finding_in_one_line(run: Run, healthy: Fake) -> None:
    healthy.answers["GET /workers"] = problem(401, "a token is needed")
    assert run("doctor").stdout.splitlines()[2:-1] == [
        "fault   token      a token is needed Set COUNTERPOISE_TOKEN, or give --token."
    ]


def test_doctor_without_a_server(run: Run) -> None:
    result = run("doctor", "--url", "http://127.0.0.1:1")
    assert result.exit_code == 1
    assert result.stdout.startswith("fault   server     cannot reach http://127.0.0.1:1: is `counterpoise serve`")
    assert len(result.stdout.splitlines()) == 2


def test_doctor_says_what_it_did_not_look_at(run: Run, healthy: Fake, database_url: str) -> None:
    assert findings(run("doctor", "--json"))["database"] == ("skipped", NOT_LOOKED_AT)
    assert findings(run("doctor", "--json", COUNTERPOISE_DATABASE_URL=""))["database"][0] == "skipped"
    assert NOT_LOOKED_AT not in run("doctor", "--database-url", database_url).stdout


SICK: list[tuple[str, tuple[int, Any], str, str, str]] = [
    ("GET /readyz", problem(503, "run: counterpoise migrate"), "server", "fault", "run: counterpoise migrate"),
    ("GET /openapi.json", (404, b""), "version", "warning", "does not say its version"),
    ("GET /openapi.json", (200, [1]), "version", "warning", "does not say its version"),
    ("GET /openapi.json", (200, {"info": {"title": "Shop", "version": "1"}}), "version", "fault", "not a Counterpoise"),
    (
        "GET /openapi.json",
        (200, {"info": {"title": "Counterpoise", "version": "99"}}),
        "version",
        "warning",
        f"the server has 99, this is {__version__}",
    ),
    ("GET /workers", problem(401, "a token is needed"), "token", "fault", "Set COUNTERPOISE_TOKEN"),
    ("GET /workers", problem(403, "not for workers"), "token", "warning", "accepted, but not for looking at workers"),
    ("GET /workers", problem(500, "broken"), "workers", "fault", "broken"),
    ("GET /workers", page(), "workers", "warning", "none has asked for jobs yet"),
]


@pytest.mark.parametrize(("path", "answer", "check", "status", "says"), SICK)
def test_doctor_finds_what_is_wrong(
    run: Run, healthy: Fake, path: str, answer: tuple[int, Any], check: str, status: str, says: str
) -> None:
    healthy.answers[path] = answer
    result = run("doctor", "--json")
    found = findings(result)
    assert found[check][0] == status
    assert says in found[check][1]
    assert {each for each, (verdict, _) in found.items() if verdict not in ("ok", "skipped")} == {check}
    assert result.exit_code == (1 if status == "fault" else 0)


def test_doctor_looks_at_the_database(run: Run, healthy: Fake, database_url: str) -> None:
    result = run("doctor", "--json", "--database-url", database_url)
    assert result.exit_code == 0, result.output
    found = findings(result)
    assert [found[check][0] for check in ("database", "migrations", "clock")] == ["ok", "ok", "ok"]
    assert "is reachable" in findings(run("doctor", "--json", COUNTERPOISE_DATABASE_URL=database_url))["database"][1]


def test_doctor_says_that_a_database_is_behind(run: Run, healthy: Fake, empty_url: str) -> None:
    with closing(Database(empty_url)) as database, database.read():
        pass  # now SQLite's file exists
    result = run("doctor", "--json", "--database-url", empty_url)
    assert result.exit_code == 1
    status, detail = findings(result)["migrations"]
    assert status == "fault"
    assert detail.endswith("run: counterpoise migrate")


def test_doctor_makes_no_database(run: Run, healthy: Fake, tmp_path: Path) -> None:
    file = tmp_path / "none.db"
    result = run("doctor", "--json", "--database-url", f"sqlite:///{file}")
    assert result.exit_code == 1
    assert findings(result)["database"][1].startswith(f"there is no file {file} yet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("oracle://me:hidden@db/x", "COUNTERPOISE_DATABASE_URL is not usable: it must be sqlite:///FILE"),
        ("postgresql://me:hidden@127.0.0.1:1/x", "Connection refused"),
    ],
)
def test_a_database_that_cannot_be_used(run: Run, healthy: Fake, url: str, says: str) -> None:
    result = run("doctor", "--json", "--database-url", url)
    assert result.exit_code == 1
    assert findings(result)["database"][0] == "fault"
    assert says in findings(result)["database"][1]
    assert "hidden" not in result.output


def test_a_file_that_is_no_database(run: Run, healthy: Fake, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("hello " * 100)
    status, detail = findings(run("doctor", "--json", "--database-url", f"sqlite:///{tmp_path / 'x.db'}"))["database"]
    assert status == "fault"
    assert "not a database" in detail


def test_a_database_out_of_reach_is_not_waited_for() -> None:
    for url in ("postgresql+psycopg://me@db/x", "postgresql+psycopg://me@db/x?connect_timeout=5"):
        with closing(open_existing(url)) as database:
            assert database.url.endswith("/x?connect_timeout=5")


@pytest.mark.parametrize(("shift", "says"), [(3600, "behind this machine's"), (-3600, "ahead of this machine's")])
def test_clocks_far_apart_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, database_url: str, shift: float, says: str
) -> None:
    now = time.time
    monkeypatch.setattr("app.service.monitoring.doctor.time.time", lambda: now() + shift)
    found = {check: (status, detail) for check, status, detail in doctor.examine(database_url)}
    assert found["clock"][0] == "warning"
    assert says in found["clock"][1]


def test_doctor_without_the_server_installed_says_how(run: Run, healthy: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    result = run("doctor", "--json", "--database-url", "sqlite:///x.db")
    assert result.exit_code == 0
    assert findings(result)["database"][0] == "warning"
    assert "pip install 'counterpoise[server]'" in findings(result)["database"][1]
