"""What workers send reaches no terminal as a control character."""

import io
import json
import re

import pytest

from counterpoise.commands.output import VisibleConsole
from counterpoise.wire.text import CONTROL
from counterpoise.worker.worker_log import WorkerLog
from tests.commands.conftest import Run
from tests.commands.fake_api import STUDY, WORKER, FakeApi, page, problem

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
SCREEN = "\x1b[2J\x1b[31m"
EIGHT_BIT = "\x9b2J"
REVERSED = "\u202e"
HOSTILE = f"a{CLIPBOARD}b{SCREEN}c{EIGHT_BIT}{REVERSED}\rd\x08"
ACTED_ON = re.compile(rf"(?![\n\t])[{CONTROL}]")


@pytest.fixture
def hostile(api: FakeApi) -> FakeApi:
    attempt = {
        "number": 1,
        "worker": HOSTILE,
        "leased_at": "2026-01-01T00:00:00Z",
        "ended_at": None,
        "outcome": None,
        "failure": None,
        "duration_s": None,
        "value": None,
        "message": HOSTILE,
    }
    story = {
        "job": 7,
        "study": "wing",
        "sample": 1,
        "step": "initial",
        "objective": "mass",
        "also": [],
        "cheap_only": False,
        "ahead": None,
        "x": {"a": 1.0},
        "state": "leased",
        "value": None,
        "why": [HOSTILE],
        "attempts": [attempt],
    }
    worker = WORKER.model_copy(
        update={"worker": HOSTILE, "studies": [HOSTILE], "objectives": [HOSTILE]}
    )
    item = STUDY.health[0].model_copy(update={"detail": HOSTILE})
    study = STUDY.model_copy(update={"health": [item]})
    api.responses = {
        "GET /readyz": problem(503, HOSTILE),
        "GET /jobs/7": (200, story),
        "GET /workers": page(worker),
        "POST /workers/drain": (200, worker.model_dump()),
        "GET /studies/wing": (200, study.model_dump()),
        "GET /studies/none": problem(404, HOSTILE),
    }
    return api


COMMANDS = [
    "explain 7",
    "workers",
    "workers drain node7",
    "study show wing",
    "study show none",
    "doctor",
    "explain 7 --json",
    "workers --json",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_control_character_is_printed(
    hostile: FakeApi, run: Run, command: str
) -> None:
    output = run(*command.split()).output
    assert ACTED_ON.search(output) is None, output
    assert "2J" in output  # of EIGHT_BIT: the hostile text is shown


def test_json_keeps_the_text(hostile: FakeApi, run: Run) -> None:
    story = json.loads(run("explain", "7", "--json").stdout)
    assert story["attempts"][0]["message"] == HOSTILE


def test_the_console_keeps_its_own_colours() -> None:
    stream = io.StringIO()
    console = VisibleConsole(file=stream, force_terminal=True, color_system="standard")
    console.print(f"[red]{HOSTILE}[/red]")
    printed = stream.getvalue()
    assert printed.startswith("\x1b[31ma")
    assert "\x1b[2J" not in printed


def test_the_log_of_a_worker_has_none() -> None:
    stream = io.StringIO()
    WorkerLog(stream=stream).warning(f"refused: {HOSTILE}", study=HOSTILE)
    assert ACTED_ON.search(stream.getvalue()) is None
