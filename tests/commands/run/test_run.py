"""`counterpoise run` with its real server, planner and workers."""

import csv
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from counterpoise.cli import app
from tests.e2e.processes import COUNTERPOISE, children, environment, eventually

pytestmark = pytest.mark.timeout(900)
STUDY = """
name: plate
variables:
  - {name: a, low: 0, high: 1}
  - {name: b, low: 1, high: 2}
objectives:
  - name: mass
    unit: kg
    run: simulation:mass
  - name: drag
    direction: maximize
    run: {command: "./drag.sh {x.a} {results}", slots: 2}
initial_samples: 4
budget: 5
seed: 2
strategy: random
"""
SIMULATION = "def mass(x):\n    return x['a'] + x['b']\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plate.yaml").write_text(STUDY)
    (tmp_path / "simulation.py").write_text(SIMULATION)
    write_command(tmp_path, 'echo "$1" > "$2"')
    return tmp_path


def write_command(folder: Path, line: str) -> None:
    file = folder / "drag.sh"
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(COUNTERPOISE), "run", "plate.yaml", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def running(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A run whose drag hangs, once a job of it runs."""
    write_command(folder, "touch started; sleep 3600")
    with subprocess.Popen(
        [str(COUNTERPOISE), "run", "plate.yaml"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        jobs = folder / "counterpoise-plate" / "jobs"
        try:
            eventually(lambda: list(jobs.glob("*/started")), "a job that hangs")
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_the_same_command_goes_on_after_a_crash(folder: Path) -> None:
    with running(folder) as process:
        family = children(process.pid)
        process.kill()
        eventually(lambda: not alive(family), "the end of all processes")
    write_command(folder, 'echo "$1" > "$2"')
    check_the_end(folder)


def test_the_same_command_goes_on_after_ctrl_c_a_wrong_simulation_and_the_end(
    folder: Path,
) -> None:
    with running(folder) as process:
        family = children(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        assert alive(family) == []

    write_command(folder, "echo no licence >&2; exit 3")
    failed = run(folder)
    assert failed.returncode == 1
    assert "! drag: error: the command ended with exit code 3: no lic" in failed.stderr
    assert "Error: drag: " in failed.stderr

    write_command(folder, 'echo "$1" > "$2"')
    check_the_end(folder)
    check_a_larger_budget(folder)


def check_the_end(folder: Path) -> None:
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert "on the front of 5 of 5 full samples" in done.stdout
    assert "best mass" in done.stdout
    assert "dashboard: http://127.0.0.1:" in done.stderr
    out = folder / "counterpoise-plate"
    rows = list(csv.DictReader((out / "front.csv").read_text().splitlines()))
    assert rows
    for row in rows:
        assert float(row["mass"]) == float(row["a"]) + float(row["b"])
        assert row["drag"] == row["a"]
    samples = csv.DictReader((out / "samples.csv").read_text().splitlines())
    assert sum(bool(row["mass"]) and bool(row["drag"]) for row in samples) == 5
    assert (out / "front.png").read_bytes().startswith(b"\x89PNG")


def check_a_larger_budget(folder: Path) -> None:
    study = folder / "plate.yaml"
    study.write_text(STUDY.replace("budget: 5", "budget: 6"))
    more = run(folder, "--json")
    assert more.returncode == 0, more.stderr
    report = json.loads(more.stdout)
    assert report["finished"]
    assert report["study"]["evaluated_full"] == 6
    assert "goes on: 5 of 6" in more.stderr

    study.write_text(STUDY.replace("high: 2", "high: 3"))
    other = run(folder)
    assert other.returncode == 1
    assert "differs in" in other.stderr
    assert "--restart" in other.stderr


def alive(family: list[psutil.Process]) -> list[psutil.Process]:
    running = [process for process in family if process.is_running()]
    return [process for process in running if process.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("run: simulation:mass", "rnu: 3", "#/objectives/0/rnu: there is no such"),
        ("    run: simulation:mass\n", "", "objective 'mass' has no `run`"),
        ("simulation:mass", "simulation:mas", "did you mean 'mass'?"),
        ("simulation:mass", "simlation:mass", "there is no module 'simlation'"),
        ("{x.a}", "{x.aa}", "did you mean 'a'?"),
        ("./drag.sh", "./darg.sh", "there is no command"),
        ("slots: 2", "slots: none", "slots is a number"),
    ],
)
def test_faults_are_found_before_anything_is_started(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    (folder / "plate.yaml").write_text(STUDY.replace(old, new))
    result = CliRunner().invoke(app, ["run", "plate.yaml"])
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")
    assert not (folder / "counterpoise-plate" / "study.db").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [("drga=2", "did you mean 'drag'?"), ("drag=0", "OBJECTIVE=N"), ("x", "N nor")],
)
def test_wrong_numbers_of_workers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, option: str, message: str
) -> None:
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, ["run", "plate.yaml", "--workers", option])
    assert result.exit_code == 2
    assert message in result.stderr
