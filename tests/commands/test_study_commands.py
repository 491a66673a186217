"""The commands `study …` that read and change studies, and how they fail."""

import io
import json

import pytest
from rich.console import Console

from counterpoise.commands.study.study_tables import study_panel
from counterpoise.wire.views import (
    JobView,
    Retried,
    StudySummary,
)
from tests.commands.conftest import Run
from tests.commands.fake_api import FRONT, STUDY, FakeApi, Response, page, problem

TOKEN = "0123456789abcdef"
COMMANDS = [
    "study create",
    "study list",
    "study show",
    "study watch",
    "study pause",
    "study resume",
    "study stop",
    "study extend",
    "study retry",
    "study evaluate",
    "study exclude",
    "study restore",
    "study front",
    "study jobs",
    "study delete",
    "study import",
    "workers",
    "doctor",
    "replay",
    "explain",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(
    run: Run, command: str
) -> None:
    text = run(*command.split(), "--help").output
    assert f"Example: counterpoise {command}" in text
    assert "--json" in text


# read


def test_list_reads_all_pages(run: Run, api: FakeApi) -> None:
    second = STUDY.model_copy(update={"name": "tail", "state": "paused"})
    api.responses |= {
        "GET /studies": page(STUDY, following="a b"),
        "GET /studies?limit=1000&cursor=a+b": page(second),
    }
    result = run("study", "list")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines() if "search" in line]
    assert rows == [
        ["wing", "search", "active", "7", "33", "60", "2026-01-01", "00:00:00Z"],
        ["tail", "search", "paused", "7", "33", "60", "2026-01-01", "00:00:00Z"],
    ]
    listed = json.loads(run("study", "list", "--json").stdout)
    summaries = [
        StudySummary(**study.model_dump()).model_dump() for study in (STUDY, second)
    ]
    assert listed == {"items": summaries, "next": None}


def test_list_without_studies_has_the_command_that_creates_one(
    run: Run, api: FakeApi
) -> None:
    api.responses["GET /studies"] = page()
    assert "counterpoise study create FILE" in run("study", "list").stdout


def test_show(run: Run, api: FakeApi) -> None:
    api.responses["GET /studies/wing"] = (200, STUDY.model_dump())
    shown = run("study", "show", "wing").stdout
    assert "wing · search · active · step 7" in shown
    assert "33 of 60 full samples evaluated, 36 planned" in shown
    lines = [line.strip("│ ").split() for line in shown.splitlines()]
    heading = next(i for i, line in enumerate(lines) if line[:2] == ["output", "goal"])
    rows = lines[heading + 1 : heading + 4]
    assert rows == [
        ["mass", "min", "cheap", "20", "0.0123", "1", "2", "33", "4", "5"],
        ["drag", "[N]", "min", "1", "1", "2", "33", "4", "5"],
        ["lift", "(run", "of", "drag)", "max"],
    ]
    assert "hypervolume: about 0.8125 at step 6 (against mass 3.5, drag 12)" in shown
    assert "! objective drag [bold]: 6 jobs have waited 3 min" in shown
    assert (
        json.loads(run("study", "show", "wing", "--json").stdout) == STUDY.model_dump()
    )


def test_show_counts_withdrawn_samples(run: Run, api: FakeApi) -> None:
    study = STUDY.model_copy(update={"withdrawn": 2})
    api.responses["GET /studies/wing"] = (200, study.model_dump())
    assert "36 planned, 2 withdrawn" in run("study", "show", "wing").stdout


def test_show_fits_into_72_columns() -> None:
    console = Console(file=io.StringIO(), width=72)
    with console.capture() as screen:
        console.print(study_panel(STUDY))
    assert "ready leased done failed  seded" in screen.get()
    assert "…" not in screen.get()


def test_show_a_new_study_without_faults(run: Run, api: FakeApi) -> None:
    young = STUDY.model_copy(
        update={
            "hypervolume": None,
            "health": [],
            "evaluated_full": 0,
            "phase": "initial",
        }
    )
    api.responses["GET /studies/wing"] = (200, young.model_dump())
    shown = run("study", "show", "wing").stdout
    assert "hypervolume: none yet" in shown
    assert "all is well" in shown


def test_front_in_a_pipe_has_all_columns(run: Run, api: FakeApi) -> None:
    api.responses |= {
        "GET /studies/wing/front": page(*FRONT),
        "GET /studies/wing": (200, STUDY.model_dump()),
    }
    lines = [
        line.split()
        for line in run("study", "front", "wing").stdout.splitlines()
        if line.strip()
    ]
    # An objective and a variable may have the same name.
    assert lines[0] == ["sample", "mass", "a", "a", "b", "step"]
    assert lines[1] == ["min"]
    assert lines[2] == ["0", "0", "7.5", "0", "0.5", "search:2", "best", "mass"]
    assert lines[-1] == ["2", "0.6667", "7.5", "2", "0.5", "search:2"]
    assert json.loads(run("study", "front", "wing", "--json").stdout)["items"] == [
        item.model_dump() for item in FRONT
    ]


def test_no_front_yet(run: Run, api: FakeApi) -> None:
    api.responses["GET /studies/wing/front"] = page()
    api.responses["GET /studies/wing"] = (200, STUDY.model_dump())
    assert "has no front yet" in run("study", "front", "wing").stdout


def test_failed_jobs_are_listed_with_their_last_message(run: Run, api: FakeApi) -> None:
    job = JobView(
        job=5,
        sample=2,
        objective="drag",
        state="failed",
        value=None,
        attempts=3,
        cheap_only=False,
        worker="node7",
        expires_at=None,
        failure="error",
        message="ValueError: no mesh",
    )
    api.responses["GET /studies/wing/jobs?limit=1000&state=failed"] = page(job)
    shown = run("study", "jobs", "wing", "--failed").stdout
    assert "error: ValueError: no mesh" in shown
    listed = json.loads(run("study", "jobs", "wing", "--failed", "--json").stdout)
    assert listed["items"] == [job.model_dump()]


# change


@pytest.mark.parametrize(
    ("arguments", "path", "body"),
    [
        (["pause", "wing"], "POST /studies/wing/pause", None),
        (["resume", "wing"], "POST /studies/wing/resume", None),
        (["stop", "wing"], "POST /studies/wing/stop", {"cancel_running": False}),
        (
            ["stop", "wing", "--cancel-running"],
            "POST /studies/wing/stop",
            {"cancel_running": True},
        ),
        (["extend", "wing", "120"], "POST /studies/wing/extend", {"budget": 120}),
    ],
)
def test_changes_of_a_study(
    run: Run, api: FakeApi, arguments: list[str], path: str, body: object
) -> None:
    api.responses[path] = (200, STUDY.model_dump())
    assert (
        run("study", *arguments).stdout
        == "study wing: search, active; 33 of 60 full samples evaluated\n"
    )
    assert api.requests == [(path, body)]
    assert json.loads(run("study", *arguments, "--json").stdout) == STUDY.model_dump()


def test_retry_all_or_some(run: Run, api: FakeApi) -> None:
    api.responses["POST /studies/wing/retry"] = (200, Retried(jobs=1).model_dump())
    assert run("study", "retry", "wing").stdout == "study wing: 1 job is ready again\n"
    run("study", "retry", "wing", "--objective", "mass", "--objective", "drag")
    assert [body for _, body in api.requests] == [
        {"objectives": None, "infeasible": False},
        {"objectives": ["mass", "drag"], "infeasible": False},
    ]
    assert json.loads(run("study", "retry", "wing", "--json").stdout) == {"jobs": 1}


def test_retry_of_infeasible_points_tells_that_broken_limits_have_values(
    run: Run, api: FakeApi
) -> None:
    api.responses["POST /studies/wing/retry"] = (200, Retried(jobs=0).model_dump())
    assert (
        "nothing to run again" in run("study", "retry", "wing", "--infeasible").stdout
    )
    assert "limit" not in run("study", "retry", "wing").stdout


def test_evaluate_a_point(run: Run, api: FakeApi) -> None:
    point = {"sample": 61, "jobs": [7], "outside_budget": True}
    api.responses["POST /studies/wing/samples"] = (201, point)
    result = run(
        "study", "evaluate", "wing", "span=2.5", "ribs=7", "--objective", "mass"
    )
    assert "sample 61" in result.stdout
    ((_, body),) = api.requests
    assert body == {
        "x": {"span": 2.5, "ribs": 7.0},
        "objectives": ["mass"],
        "outside_budget": False,
    }
    shown = run("study", "evaluate", "wing", "span=2.5", "--outside-budget", "--json")
    assert json.loads(shown.stdout) == point
    wrong = run("study", "evaluate", "wing", "span")
    assert wrong.exit_code == 2
    assert "span" in wrong.stderr


def test_exclude_and_restore_a_sample(run: Run, api: FakeApi) -> None:
    for command, excluded in (("exclude", True), ("restore", False)):
        exclusion = {"sample": 61, "excluded": excluded}
        api.responses[f"POST /studies/wing/samples/61/{command}"] = (200, exclusion)
        assert "sample 61" in run("study", command, "wing", "61").stdout
        shown = run("study", command, "wing", "61", "--json")
        assert json.loads(shown.stdout) == exclusion


def test_delete_asks_for_confirmation(run: Run, api: FakeApi) -> None:
    api.responses |= {
        "GET /studies/wing": (200, STUDY.model_dump()),
        "DELETE /studies/wing": (204, None),
    }
    refused = run("study", "delete", "wing", stdin="n\n")
    assert refused.exit_code == 1
    assert (
        "Delete study wing with 33 evaluated full samples? It cannot be undone"
        in refused.stderr
    )
    assert run("study", "delete", "wing", stdin="").exit_code == 1
    assert [path for path, _ in api.requests if "DELETE" in path] == []
    assert run("study", "delete", "wing", stdin="y\n").stdout.endswith(
        "study wing deleted\n"
    )
    assert api.requests[-1] == ("DELETE /studies/wing?force=false", None)


def test_delete_without_confirmation(run: Run, api: FakeApi) -> None:
    api.responses["DELETE /studies/wing"] = (204, None)
    assert json.loads(
        run("study", "delete", "wing", "--yes", "--force", "--json").stdout
    ) == {"deleted": "wing"}
    assert api.requests == [("DELETE /studies/wing?force=true", None)]
    api.responses["DELETE /studies/wing"] = problem(
        409, "3 jobs of it are leased; use force"
    )
    refused = run("study", "delete", "wing", "-y")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "Error: 3 jobs of it are leased; use force\n",
    )


@pytest.mark.parametrize("name", ["..", "a/b", "", "é"])
def test_an_invalid_name_is_wrong_usage(run: Run, api: FakeApi, name: str) -> None:
    result = run("study", "delete", name, "--yes")
    assert (result.exit_code, api.requests) == (2, [])
    assert "begins with" in result.stderr


# the connection


def test_the_token_is_an_option_or_in_the_environment(run: Run, api: FakeApi) -> None:
    api.responses["GET /studies"] = page()
    run("study", "list")
    run("study", "list", "--token", TOKEN)
    run("study", "list", COUNTERPOISE_TOKEN=TOKEN)
    assert api.tokens == [None, f"Bearer {TOKEN}", f"Bearer {TOKEN}"]


def test_without_a_token_a_401_names_the_option(run: Run, api: FakeApi) -> None:
    api.responses["GET /studies"] = problem(401, "a token is needed")
    assert (
        run("study", "list").stderr
        == "Error: a token is needed\nNo token was sent: set COUNTERPOISE_TOKEN, or give --token.\n"
    )
    wrong = run("study", "list", "--token", TOKEN).stderr
    assert "does not know the token that was sent" in wrong
    assert TOKEN not in wrong


def test_an_invalid_token_is_not_printed(run: Run, api: FakeApi) -> None:
    result = run("study", "list", "--token", f"{TOKEN}\n")
    assert (result.exit_code, api.requests) == (1, [])
    assert "check COUNTERPOISE_TOKEN" in result.stderr
    assert TOKEN not in result.output


def test_a_server_that_cannot_be_reached(run: Run) -> None:
    result = run("study", "list", "--url", "http://127.0.0.1:1/")
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "Error: cannot reach http://127.0.0.1:1: is `counterpoise serve` running? set COUNTERPOISE_URL"
    )
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("url", ["localhost:8000", "127.0.0.1:8000", "ftp://127.0.0.1"])
def test_an_invalid_url(run: Run, url: str) -> None:
    result = run("study", "list", "--url", url)
    assert result.exit_code == 1
    assert f"'{url}' is not a URL such as http://127.0.0.1:8000" in result.stderr


def test_a_proxy_is_not_used_for_loopback(run: Run, api: FakeApi) -> None:
    api.responses["GET /studies"] = page()
    assert (
        run(
            "study",
            "list",
            HTTP_PROXY="http://127.0.0.1:1",
            http_proxy="http://127.0.0.1:1",
        ).exit_code
        == 0
    )


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ((200, b"<html>"), "is not JSON; is it a Counterpoise server?"),
        ((200, [1]), "is not what this version expects; is it a Counterpoise server?"),
        (
            (502, b"<html>"),
            "responded 502 Bad Gateway; the server or its proxy is restarting",
        ),
        ((307, b""), "responded 307 Temporary Redirect"),
        (
            (200, {"items": [{"name": 3}], "next": None}),
            "compare versions with: counterpoise doctor",
        ),
    ],
)
def test_an_unexpected_response(
    run: Run, api: FakeApi, response: Response, message: str
) -> None:
    api.responses["GET /studies"] = response
    result = run("study", "list")
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output
