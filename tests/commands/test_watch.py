"""`study watch`, `workers` and `explain`."""

import io
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from counterpoise.cli import app
from counterpoise.client import Client
from counterpoise.commands import output
from counterpoise.commands.study import watch
from counterpoise.commands.study.snapshot import Snapshot
from counterpoise.commands.study.watch_panel import bar, panel
from counterpoise.eta import Eta, eta
from counterpoise.wire.codes import JobState
from counterpoise.wire.problems import Problem
from counterpoise.wire.specification import EXAMPLE
from counterpoise.wire.views import (
    AttemptStory,
    HealthItem,
    Hypervolume,
    JobStory,
    ObjectiveView,
    StudyView,
    WorkerFailures,
    WorkerView,
)

DRAG = ObjectiveView(
    name="drag",
    direction="minimize",
    unit=None,
    same_run_as=None,
    cheap=False,
    ratio=1.0,
    median_duration_s=10.0,
    duration_quartiles_s=(10.0, 12.0),
    ready=1,
    leased=2,
    done=33,
    failed=4,
    superseded=5,
)
READY, LEASED, DONE, FAILED = (
    JobState.READY,
    JobState.LEASED,
    JobState.DONE,
    JobState.FAILED,
)
NO_PLANNER = HealthItem(code="planner_missing", detail="no [planner]")
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
    objectives=[DRAG, DRAG.model_copy(update={"name": "lift", "same_run_as": "drag"})],
    ratio_source="declared",
    hypervolume=Hypervolume(
        value=0.84,
        reference_point={"drag": 12.0},
        step=6,
        exact=True,
        front=12,
        previous=0.8,
    ),
    health=[],
    spec={**EXAMPLE, "batch_size": 5},
)
FINISHED = STUDY.model_copy(
    update={"phase": "finished", "evaluated_full": 60, "planned_full": 60}
)
WORKER = WorkerView(
    worker="node 7/[b]",
    first_seen_at="2026-01-01T00:00:00.000Z",
    last_seen_at="2026-01-01T00:00:07.123Z",
    studies=["wing"],
    objectives=["drag"],
    slots=4,
    jobs=[5, 6],
    done=120,
    busy_share=0.834,
    failures=WorkerFailures(error=3, lost=1),
)
UNREACHABLE = httpx.ConnectError("refused")
StudyResponse = StudyView | Exception | int
Watch = Callable[..., Result]


def problem(status: int, detail: str) -> httpx.Response:
    body = Problem(
        type="urn:x",
        title="t",
        status=status,
        detail=detail,
        instance="/",
        request_id="r",
        errors=[],
    )
    return httpx.Response(status, json=body.model_dump())


@pytest.fixture
def served(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[httpx.Request], httpx.Response]], None]:
    def serve(handle: Callable[[httpx.Request], httpx.Response]) -> None:
        def client(url: str, token: str | None, retry_s: float) -> Client:
            return Client(
                url, token, retry_s=retry_s, transport=httpx.MockTransport(handle)
            )

        monkeypatch.setattr(output, "Client", client)

    return serve


@pytest.fixture
def watching(served: Any, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Watch a study with these responses, one after the other; then press Ctrl-C."""

    def start(*responses: StudyResponse, options: tuple[str, ...] = ()) -> Result:
        left = list(responses)

        def handle(request: httpx.Request) -> httpx.Response:
            if request.url.path == "/workers":
                return httpx.Response(
                    200, json={"items": [WORKER.model_dump()], "next": None}
                )
            response = left.pop(0)
            if isinstance(response, Exception):
                raise response
            if isinstance(response, int):
                return problem(response, "there is no study 'wing'")
            return httpx.Response(200, json=response.model_dump(mode="json"))

        def sleep(_: float) -> None:
            if not left:
                raise KeyboardInterrupt

        served(handle)
        monkeypatch.setattr("counterpoise.commands.study.watch.time.sleep", sleep)
        return CliRunner().invoke(app, ["study", "watch", "wing", *options])

    return start


def lines(result: Result) -> list[str]:
    """Without their times."""
    return [line.partition(" ")[2] for line in result.stdout.splitlines()]


def test_a_line_is_printed_when_something_has_changed(watching: Watch) -> None:
    more = STUDY.model_copy(update={"evaluated_full": 34})
    with_fault = STUDY.model_copy(update={"evaluated_full": 34, "health": [NO_PLANNER]})
    result = watching(STUDY, STUDY, more, more, with_fault)
    assert result.exit_code == 0
    first, second, third = lines(result)
    assert first == (
        "wing: search, active, step 7; 33 of 60 full samples; front 12 samples, hypervolume 0.84"
        " (+5.00% on the step before) at step 6; workers 1 alive with 4 slots, 2 busy; time left 70 s to 2 min"
    )
    assert "34 of 60" in second
    assert third.endswith("; ! no [planner]")


def test_json_lines_for_programs(watching: Watch) -> None:
    result = watching(STUDY, STUDY, FINISHED, options=("--json",))
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert (first["study"]["evaluated_full"], first["workers"], first["away"]) == (
        33,
        1,
        None,
    )
    assert first["eta"]["unknown"] is None
    assert first["eta"]["low_s"] < first["eta"]["high_s"]
    assert second["eta"] == {"low_s": 0.0, "high_s": 0.0, "unknown": None}


@pytest.mark.parametrize(
    ("until", "responses", "code", "count"),
    [
        ("finished", [STUDY, FINISHED, STUDY], 0, 2),
        ("search", [STUDY.model_copy(update={"phase": "initial"}), STUDY, STUDY], 0, 2),
        ("search", [FINISHED, STUDY], 0, 1),
        ("finished", [STUDY, STUDY], 130, 1),  # after Ctrl-C a shell must not go on
    ],
)
def test_until_a_phase(
    watching: Watch, until: str, responses: list[StudyResponse], code: int, count: int
) -> None:
    result = watching(*responses, options=("--until", until))
    assert (result.exit_code, len(lines(result))) == (code, count)


def test_an_unavailable_server_is_waited_for(watching: Watch) -> None:
    result = watching(
        STUDY, UNREACHABLE, UNREACHABLE, FINISHED, options=("--until", "finished")
    )
    _, second, third = lines(result)
    assert second.startswith("wing: no response, trying again: cannot reach http://")
    assert "finished" in third
    assert result.exit_code == 0


def test_a_server_that_cannot_be_reached_is_a_failure(watching: Watch) -> None:
    result = watching(UNREACHABLE)
    assert result.exit_code == 1
    assert "is `counterpoise serve` running?" in result.stderr


def test_a_deleted_study_ends_it(watching: Watch) -> None:
    result = watching(STUDY, 404)
    assert (result.exit_code, result.stderr) == (1, "Error: there is no study 'wing'\n")


def shown(snapshot: Snapshot, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as screen:
        console.print(panel(snapshot))
    return [line.strip("│ ") for line in screen.get().splitlines()]


@pytest.mark.parametrize("width", [80, 120])
def test_the_panel_fits(width: int) -> None:
    found = shown(Snapshot(STUDY, [WORKER], eta(STUDY, [WORKER])), width)
    assert "wing · search · active · step 7" in found[0]
    assert found[1].split() == ["done", "running", "waiting", "failed", "workers"]
    assert found[2].split()[0:2] == ["full", "samples"]
    assert found[2].split()[3:] == ["33", "of", "60"]
    assert found[3].split()[2:] == ["33", "2", "1", "4", "1"]
    assert found[4].split() == ["lift", "with", "drag", "33"]
    whole = " ".join(" ".join(found).split())
    assert (
        "front 12 samples, hypervolume 0.84 (+5.00% on the step before) at step 6"
        in whole
    )
    assert "workers 1 alive with 4 slots, 2 busy" in whole
    assert "…" not in whole


def test_the_panel_counts_infeasible_runs_and_withdrawn_samples() -> None:
    drag = DRAG.model_copy(update={"infeasible": 6})
    study = STUDY.model_copy(update={"objectives": [drag], "withdrawn": 5})
    text = shown(Snapshot(study, [], eta(study, [])), 100)
    full = next(line for line in text if "full samples" in line)
    assert full.split()[3:] == ["33", "of", "60", "5"]


def test_the_panel_has_errors_and_health() -> None:
    young = STUDY.model_copy(update={"hypervolume": None, "health": [NO_PLANNER]})
    whole = "\n".join(
        shown(Snapshot(young, [], Eta(unknown="no worker"), error="refused"), 80)
    )
    assert "front     none yet" in whole
    assert "workers   none" in whole
    assert "time left unknown: no worker" in whole
    assert "! no response, trying again: refused" in whole
    assert "! no [planner]" in whole


def test_a_live_panel_on_a_terminal(
    watching: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        watch, "terminal", lambda: Console(file=screen, force_terminal=True, width=80)
    )
    assert watching(STUDY, FINISHED, options=("--until", "finished")).exit_code == 0
    assert "wing · finished · step" in screen.getvalue().replace("\x1b[1m", "").replace(
        "\x1b[0m", ""
    ).replace("\x1b[32m", "")


def test_a_bar_has_its_width_and_a_cell_for_every_part() -> None:
    assert (
        bar({DONE: 1, FAILED: 1, LEASED: 1, READY: 10**6}, 10**6 + 3, 10).plain
        == "█✗▒░░░░░░░"
    )
    assert bar({DONE: 5}, 10, 10).plain == "█" * 5 + "·" * 5
    assert bar({}, 0, 10).plain == "·" * 10
    parts = bar({DONE: 999, FAILED: 1}, 1000, 10).spans
    assert [(part.end - part.start, part.style) for part in parts[:2]] == [
        (9, "green"),
        (1, "red"),
    ]


# workers and jobs


def test_workers_are_listed(served: Any) -> None:
    drained = WORKER.model_copy(
        update={"worker": "old", "drained": True, "alive": False, "jobs": []}
    )
    twins = WORKER.model_copy(update={"worker": "twins", "shared": True})
    items = [WORKER.model_dump(), drained.model_dump(), twins.model_dump()]
    served(lambda _: httpx.Response(200, json={"items": items, "next": None}))
    rows = [
        line.split()
        for line in CliRunner().invoke(app, ["workers"]).stdout.splitlines()
    ]
    assert rows[0] == [
        "worker",
        "state",
        "last",
        "seen",
        "takes",
        "jobs",
        "done",
        "busy",
        "failures",
    ]
    assert rows[1] == [
        *("node", "7/[b]", "alive", "2026-01-01", "00:00:07Z", "drag", "of", "wing"),
        *("2/4", "120", "83%", "3", "error,", "1", "lost"),
    ]
    assert rows[2][:3] == ["old", "drained,", "away"]
    assert rows[3][:3] == ["twins", "name", "shared"]
    assert json.loads(CliRunner().invoke(app, ["workers", "--json"]).stdout) == {
        "items": items,
        "next": None,
    }


def test_only_workers_that_are_alive(served: Any) -> None:
    old = WORKER.model_copy(update={"worker": "old", "alive": False})
    items = [WORKER.model_dump(), old.model_dump()]
    served(lambda _: httpx.Response(200, json={"items": items, "next": None}))
    shown = CliRunner().invoke(app, ["workers", "--alive", "--json"]).stdout
    assert [item["worker"] for item in json.loads(shown)["items"]] == [WORKER.worker]


def test_no_workers(served: Any) -> None:
    served(lambda _: httpx.Response(200, json={"items": [], "next": None}))
    assert (
        CliRunner().invoke(app, ["workers"]).stdout
        == "no worker has asked for jobs yet\n"
    )


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            "drain",
            "worker node 7/[b] is drained: it gets no more jobs; it holds 2 jobs\n",
        ),
        ("undrain", "worker node 7/[b] gets jobs when it asks; it holds 2 jobs\n"),
    ],
)
def test_drain_and_undrain(served: Any, command: str, text: str) -> None:
    requests: list[tuple[str, Any]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append((request.url.path, json.loads(request.content)))
        return httpx.Response(
            200, json={**WORKER.model_dump(), "drained": command == "drain"}
        )

    served(handle)
    assert CliRunner().invoke(app, ["workers", command, "node 7/[b]"]).stdout == text
    assert requests == [(f"/workers/{command}", {"worker": "node 7/[b]"})]
    assert (
        json.loads(CliRunner().invoke(app, ["workers", command, "w", "--json"]).stdout)[
            "done"
        ]
        == 120
    )


def test_explain(served: Any) -> None:
    attempt = AttemptStory(
        number=1,
        worker="node7",
        leased_at="2026-01-01T00:00:00.100Z",
        ended_at="2026-01-01T00:01:00.100Z",
        outcome="failed",
        value=None,
        failure="error",
        message="Traceback [red]",
        duration_s=59.25,
    )
    story = JobStory(
        job=17,
        study="wing",
        sample=5,
        step="search:2",
        objective="drag",
        also=["lift"],
        cheap_only=False,
        x={"span": 1.5, "ribs": 4},
        state="ready",
        value=None,
        ahead=2,
        why=["2 jobs are before it in the queue of drag"],
        attempts=[attempt],
    )
    served(
        lambda request: httpx.Response(
            200, json=story.model_dump() if request.url.path == "/jobs/17" else {}
        )
    )
    result = CliRunner().invoke(app, ["explain", "17"])
    text = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert text[:4] == [
        "job 17: drag (with lift) of sample 5, search:2, study wing",
        "at span = 1.5, ribs = 4",
        "ready",
        "- 2 jobs are before it in the queue of drag",
    ]
    assert "1 node7 2026-01-01 00:00:00Z 2026-01-01 00:01:00Z error 59.2" in text
    assert text[-2:] == ["message of attempt 1:", "Traceback [red]"]
    assert (
        json.loads(CliRunner().invoke(app, ["explain", "17", "--json"]).stdout)
        == story.model_dump()
    )
    assert CliRunner().invoke(app, ["explain", "0"]).exit_code == 2
