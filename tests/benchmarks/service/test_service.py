"""`bench service` in small: real server, planner, client and Optuna processes; no time
is asserted.
"""

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from benchmarks.cli import bench
from benchmarks.service import run as service
from benchmarks.service.report import tables
from benchmarks.service.worker_processes import Share, duration

SMALL = [
    "service",
    "--jobs",
    "12",
    "--cycles",
    "2",
    "--trials",
    "1",
    "--rounds",
    "1",
    "--initial",
    "11",
    "--json",
]


def _invoke(*more: str) -> list[service.Row]:
    result = CliRunner().invoke(bench, [*SMALL, *more], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(autouse=True)
def _two_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CLIENTS", 2)
    monkeypatch.setattr(service, "PACE_S", 0.05)


@pytest.mark.slow  # `make bench` does the same
def test_a_small_run_measures_both_databases_beside_optuna() -> None:
    rows = _invoke("--no-planning")
    found: dict[tuple[object, object], dict[str, Any]] = {
        (row["subject"], row["way"]): row for row in rows
    }
    ours = product(("sqlite", "postgresql"), ("singly", "by 16"))
    assert list(found) == [*ours, ("optuna", "singly")]
    trials = found["optuna", "singly"]["samples_per_s"]
    for key in ours:
        row = found[key]
        assert row["jobs_to_trials"] == pytest.approx(
            row["jobs_per_s"] / trials, rel=0.1
        )
        assert 0 < row["ask_p50_ms"] <= row["ask_p99_ms"]
        assert 0 < row["tell_p50_ms"] <= row["tell_p99_ms"]
    assert (
        "fsync on, synchronous_commit on" in found["postgresql", "singly"]["durability"]
    )
    assert [len(table.rows) for table in tables(rows)] == [5]


@pytest.mark.slow
def test_a_small_run_asks_while_a_planner_fits() -> None:
    rows = [row for row in _invoke() if row["measure"] == "planning"]
    assert [row["subject"] for row in rows] == ["sqlite", "postgresql"]
    assert [len(table.rows) for table in tables(rows)] == [2]
    for row in rows:
        assert isinstance(row["idle_ask_p99_ms"], float)
        assert isinstance(row["planning_ask_p99_ms"], float)
        assert (row["p99_ratio"] is None) == (row["steps"] == 0)


def test_a_crew_is_timed_from_the_first_begin_to_the_last_end() -> None:
    assert duration([Share(began=2.0, ended=5.0), Share(began=1.0, ended=4.0)]) == 4.0


def test_whole_samples_of_every_objective_are_made_for_what_is_measured() -> None:
    plan = service.Plan(jobs=0, cycles=2, rounds=1)
    # Two clients, two cycles: one objective may be asked for by both, at 1 + 16 + 1 + 1
    # jobs a cycle.
    assert plan.consumed >= len(service.OBJECTIVES) * 2 * 19


def test_a_server_does_not_outlive_a_killed_benchmark(tmp_path: Path) -> None:
    program = f"""
from benchmarks.server_processes import serving
import sys
with serving({f"sqlite:///{tmp_path / 'a.db'}"!r}) as port:
    print(port, flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) > 0
        (server,) = psutil.Process(process.pid).children()
        process.kill()
    server.wait(10)  # raises if it is still there


def test_the_command_has_help_with_an_example() -> None:
    result = CliRunner().invoke(bench, ["service", "--help"])
    assert "Example: counterpoise bench service" in result.output
