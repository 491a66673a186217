"""Real workers and servers that are killed, stopped and disconnected: no result is
lost, no process left behind.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from counterpoise import Client
from counterpoise.cli import app
from counterpoise.wire.views import JobView
from tests.e2e.processes import (
    COUNTERPOISE,
    PATIENCE_S,
    children,
    environment,
    eventually,
    running,
    serving,
)
from tests.worker.in_process_server import planning_here, serving_here
from tests.worker.unreliable_link import unreliable_link

SIMULATIONS = "tests.worker.simulations"
# Two objectives with equal costs, and no search: twice as many jobs as samples.
SPEC: dict[str, Any] = {
    "name": "beam",
    "variables": [{"name": "span", "low": 1.0, "high": 2.0}],
    "objectives": [{"name": "mass"}, {"name": "drag"}],
    "ratios": {"mass": 1, "drag": 1},
    "budget": 2,
    "initial_samples": 2,
    "seed": 1,
}
Worker = tuple["subprocess.Popen[bytes]", Path]


@pytest.fixture
def backend() -> str:
    return "sqlite"  # the database makes no difference to a worker


@contextmanager
def working(
    url: str, tmp_path: Path, *options: str, **objectives: str
) -> Iterator[Worker]:
    """A worker process and its log."""
    functions = [
        f"--objective={name}={SIMULATIONS}:{function}"
        for name, function in objectives.items()
    ]
    spool = f"--spool={tmp_path / 'spool'}"
    with running(
        COUNTERPOISE,
        "worker",
        "--url",
        url,
        "--study",
        "beam",
        "--json",
        spool,
        *functions,
        *options,
    ) as started:
        yield started


def finish(process: "subprocess.Popen[bytes]", log: Path) -> None:
    try:
        assert process.wait(PATIENCE_S) == 0, log.read_text()
    except subprocess.TimeoutExpired:
        raise AssertionError(log.read_text()) from None


@contextmanager
def beam(database_url: str, **given: Any) -> Iterator[Client]:
    with serving_here(database_url) as url, Client(url) as client:
        client.create_study(SPEC | given)
        yield client


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which `slow` creates a file when it begins, and waits for the file
    `open`.
    """
    monkeypatch.setenv("GATE", str(tmp_path))
    return tmp_path


def spooled(tmp_path: Path) -> list[Path]:
    files: list[Path] = []
    # Unlike `rglob`, it passes over folders that a worker removes meanwhile
    for folder, _, names in os.walk(tmp_path / "spool"):
        files += [Path(folder, name) for name in names if name.endswith(".json")]
    return files


def check_values(client: Client, count: int) -> None:
    samples = list(client.samples("beam"))
    assert len(samples) == count
    for sample in samples:
        span = sample.x["span"]
        assert sample.values == {"mass": span, "drag": span**2}


def test_results_survive_a_killed_server_and_a_killed_worker(
    database_url: str, gate: Path
) -> None:
    with ExitStack() as stack:
        stack.enter_context(planning_here(database_url))
        url, server = stack.enter_context(serving(database_url, "--no-planner"))
        client = stack.enter_context(Client(url, retry_s=PATIENCE_S))
        client.create_study(SPEC)
        options = ("--max-jobs", "1", "--grace-s", "600")
        survivor, log = stack.enter_context(
            working(url, gate / "a", *options, mass="slow")
        )
        victim, _ = stack.enter_context(working(url, gate / "b", *options, drag="slow"))
        eventually(lambda: len(list(gate.glob("begun-*"))) == 2, "both evaluations")
        server.kill()
        server.wait()
        (gate / "open").touch()
        eventually(
            lambda: spooled(gate / "a") and spooled(gate / "b"), "the results on disk"
        )
        victim.kill()
        victim.wait()
        stack.enter_context(
            serving(database_url, "--no-planner", port=int(url.rpartition(":")[2]))
        )
        finish(survivor, log)
        # The other result is told by another worker with the same spool, although that
        # evaluates another objective.
        stack.enter_context(working(url, gate / "b", mass="span"))
        eventually(lambda: len(done(client, "drag")) == 1, "the dead worker's result")
        eventually(lambda: len(done(client, "mass")) == 2, "the other job")
        samples = {sample.sample: sample for sample in client.samples("beam")}
        for job in client.jobs("beam", state="done"):
            assert (job.value, job.attempts) == (samples[job.sample].x["span"], 1)
    assert spooled(gate / "a") + spooled(gate / "b") == []


def done(client: Client, objective: str) -> list[JobView]:
    return list(client.jobs("beam", objective=objective, state="done"))


def test_the_job_of_a_killed_worker_is_evaluated_by_another_and_no_process_is_left(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    with beam(database_url, lease_s=2.0) as client:
        with working(client.url, tmp_path, mass="hangs") as (process, _):
            eventually(
                lambda: (
                    (tmp_path / "pids").exists() and (tmp_path / "pids").read_text()
                ),
                "the evaluation",
            )
            family = children(process.pid)
            assert len(family) == 3
            process.kill()
            process.wait()
            assert psutil.wait_procs(family, PATIENCE_S)[1] == []
        with working(
            client.url, tmp_path, "--until-finished", mass="span", drag="quick"
        ) as (process, log):
            finish(process, log)
        check_values(client, 2)
        assert sorted(job.attempts for job in client.jobs("beam")) == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("processes", "slots"), [(3, 8), pytest.param(50, 1, marks=pytest.mark.slow)]
)
def test_many_workers_evaluate_every_job_once(
    database_url: str, tmp_path: Path, processes: int, slots: int
) -> None:
    with (
        beam(database_url, budget=100, initial_samples=100) as client,
        ExitStack() as stack,
    ):
        workers = [
            stack.enter_context(
                working(
                    client.url,
                    tmp_path,
                    "--until-finished",
                    "--slots",
                    str(slots),
                    mass="span",
                    drag="quick",
                )
            )
            for _ in range(processes)
        ]
        for process, log in workers:
            finish(process, log)
        check_values(client, 100)
        jobs = list(client.jobs("beam"))
        assert (
            len(jobs),
            {job.state for job in jobs},
            {job.attempts for job in jobs},
        ) == (200, {"done"}, {1})
        assert len({job.worker for job in jobs}) > 1
    assert spooled(tmp_path) == []


def test_an_unreliable_link_loses_no_value(database_url: str, tmp_path: Path) -> None:
    with (
        beam(
            database_url, budget=10, initial_samples=10, lease_s=3.0, max_losses=100
        ) as client,
        unreliable_link(client.url, delay_s=0.05, cuts=0.1, seed=1) as (url, cut),
    ):
        # Two workers, so that a lost lease of one does not hold up the other.
        with ExitStack() as stack:
            options = ("--until-finished", "--slots", "3")
            workers = [
                stack.enter_context(
                    working(url, tmp_path, *options, mass="span", drag="quick")
                )
                for _ in range(2)
            ]
            for process, log in workers:
                finish(process, log)
        check_values(client, 10)
    assert cut


FAILURES = {
    "segfault": "signal SIGSEGV",
    "exits": "exit code 3",
    "raises": "ZeroDivisionError: nothing to divide",
    "hangs": "timeout: still running after 2 s",
}


def test_failures_are_told_and_the_worker_goes_on(
    database_url: str, tmp_path: Path
) -> None:
    objectives = [{"name": name} for name in (*FAILURES, "quick")]
    ratios = {objective["name"]: 1 for objective in objectives}
    with beam(
        database_url, objectives=objectives, ratios=ratios, max_attempts=1
    ) as client:
        functions = {name: name for name in ratios}
        options = ("--until-finished", "--timeout-s", "2", "--slots", "2")
        with working(client.url, tmp_path, *options, **functions) as (process, log):
            finish(process, log)
            for message in FAILURES.values():
                assert log.read_text().count(message) == 2
        for sample in client.samples("beam"):
            assert sample.failures == dict.fromkeys(FAILURES, "error")
            assert sample.values == {"quick": sample.x["span"] ** 2}


def test_stop_with_cancel_ends_running_evaluations(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    with (
        beam(database_url, lease_s=1.5) as client,
        working(client.url, tmp_path, "--until-finished", mass="hangs") as (
            process,
            log,
        ),
    ):
        eventually(
            lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text(),
            "the evaluation",
        )
        family = [
            psutil.Process(int(pid)) for pid in (tmp_path / "pids").read_text().split()
        ]
        client.stop("beam", cancel_running=True)
        assert psutil.wait_procs(family, PATIENCE_S)[1] == []
        finish(process, log)
        assert {job.state for job in client.jobs("beam")} == {"superseded"}


def test_one_sigterm_lets_running_evaluations_finish(
    database_url: str, gate: Path
) -> None:
    with (
        beam(database_url) as client,
        working(client.url, gate, mass="slow") as (process, log),
    ):
        eventually(lambda: list(gate.glob("begun-*")), "the evaluation")
        process.send_signal(signal.SIGTERM)
        eventually(lambda: "finishing running jobs" in log.read_text(), "the signal")
        (gate / "open").touch()
        finish(process, log)
        assert sorted(job.state for job in client.jobs("beam", objective="mass")) == [
            "done",
            "ready",
        ]


@pytest.mark.parametrize("times", [1, 2])
def test_sigterm_releases_jobs_that_do_not_end(
    database_url: str, gate: Path, times: int
) -> None:
    grace = "0.5" if times == 1 else "600"
    with (
        beam(database_url) as client,
        working(client.url, gate, "--grace-s", grace, mass="slow") as (process, log),
    ):
        eventually(lambda: list(gate.glob("begun-*")), "the evaluation")
        family = children(process.pid)
        for _ in range(times):
            process.send_signal(signal.SIGTERM)
            eventually(
                lambda: "finishing running jobs" in log.read_text(), "the first signal"
            )
        finish(process, log)
        assert psutil.wait_procs(family, PATIENCE_S)[1] == []
        assert [job.state for job in client.jobs("beam", objective="mass")] == [
            "ready"
        ] * 2


# in the folder of a user


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("app", "workers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            f"raise SystemExit('imported the user\\'s own {name}')"
        )
    (tmp_path / "simulations.py").write_text(
        "import app_of_mine\n\ndef mass(x):\n    return app_of_mine.VALUE\n"
    )
    (tmp_path / "app_of_mine.py").write_text("VALUE = 4.5\n")
    return tmp_path


def run(folder: Path, *command: str | Path) -> "subprocess.CompletedProcess[str]":
    own = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**own, "XDG_STATE_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


SCRIPT = """
import dataclasses
import counterpoise

worker = counterpoise.Worker("beam", url="{url}", max_jobs=1)

@dataclasses.dataclass
class Point:
    span: float

@worker.objective("mass")
def mass(x):
    return 2.0 * Point(**x).span

if {guard}:
    worker.run()
"""


def test_a_users_module_and_a_users_script(database_url: str, folder: Path) -> None:
    with beam(database_url) as client:
        worker = (
            COUNTERPOISE,
            "worker",
            "--url",
            client.url,
            "--study",
            "beam",
            "--max-jobs",
            "1",
        )
        result = run(folder, *worker, "--objective", "mass=simulations:mass")
        assert result.returncode == 0, result.stderr
        (folder / "script.py").write_text(
            SCRIPT.format(url=client.url, guard='__name__ == "__main__"')
        )
        result = run(folder, sys.executable, "script.py")
        assert result.returncode == 0, result.stderr
        first, second = client.samples("beam")
        assert first.values == {"mass": 4.5}
        assert second.values == {"mass": 2.0 * second.x["span"]}


def test_a_script_without_its_guard_fails_with_a_hint(folder: Path) -> None:
    (folder / "script.py").write_text(
        SCRIPT.format(url="http://127.0.0.1:1", guard="True")
    )
    result = run(folder, sys.executable, "script.py")
    assert result.returncode == 1
    assert 'write `if __name__ == "__main__":` before run()' in result.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            ["--objective", "mass=simulations:mass"],
            2,
            "choose the studies to work for: --study NAME, or --any-study",
        ),
        (
            ["--study", "beam", "--any-study", "--objective", "mass=simulations:mass"],
            2,
            "choose the studies",
        ),
        (
            ["--any-study", "--objective", "mass"],
            2,
            "write mass=package.module:function",
        ),
        (
            ["--any-study", "--objective", "mass=simulations"],
            2,
            "write package.module:function",
        ),
        (
            ["--any-study", "--objective", "mass=simulations:mas"],
            2,
            "has no function 'mas'; did you mean 'mass'?",
        ),
        (
            ["--any-study", "--objective", "mass=nothing:mass"],
            2,
            "there is no module 'nothing'",
        ),
        (
            ["--any-study", "--objective", "mass=simulations:mass", "--url", "ftp://x"],
            1,
            "'ftp://x' is not a URL",
        ),
    ],
)
def test_wrong_usage_is_reported_before_any_job_is_taken(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    result = CliRunner().invoke(app, ["worker", *options])
    assert result.exit_code == code, result.output
    assert message in result.stderr
