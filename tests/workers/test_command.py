"""Commands as objectives: what goes in, what comes out, and that nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from counterpoise.cli import app
from counterpoise.worker.evaluators.command_evaluator import CommandEvaluator, CommandUnusable, Keep, resolve
from counterpoise.worker.evaluators.evaluator import Outcome, Running
from tests.e2e.processes import eventually
from tests.workers.jobs import JOB, X


@contextmanager
def started(tmp_path: Path, *command: str, keep: Keep = "never") -> Iterator[Running]:
    evaluator = CommandEvaluator(resolve(command), tmp_path / "work", keep)
    evaluator.check()
    try:
        yield evaluator.start(0, JOB)
    finally:
        evaluator.close()


def run(tmp_path: Path, *command: str, keep: Keep = "never") -> Outcome:
    with started(tmp_path, *command, keep=keep) as running:
        outcome = running.wait(None)
    assert outcome is not None
    return outcome


def sh(tmp_path: Path, script: str, *arguments: str, keep: Keep = "never") -> Outcome:
    return run(tmp_path, "sh", "-c", script, "script", *arguments, keep=keep)


def failure(outcome: Outcome) -> tuple[str, str]:
    assert outcome.failure is not None
    assert outcome.value is None
    return outcome.failure.kind, outcome.failure.message


def test_the_point_goes_in_as_json_and_as_plain_lines(tmp_path: Path) -> None:
    outcome = sh(tmp_path, 'cp "$1" "$2" .. && echo 1', "{params}", "{params_txt}")
    assert outcome.value == 1.0
    assert json.loads((tmp_path / "work/params.json").read_text()) == X
    assert (tmp_path / "work/params.txt").read_text() == "span 2.5\nribs 7\n"


def test_variables_can_be_arguments_and_other_braces_are_left_alone(tmp_path: Path) -> None:
    outcome = run(tmp_path, "awk", "BEGIN {print {x.span} * {x.ribs}}")
    assert outcome.value == 17.5


@pytest.mark.parametrize("written", ["2.5", " 2.5e0\n\n", '{"drag": 2.5}', '{"drag": 2.5, "lift": 0.25}'])
def test_results_come_from_their_file(tmp_path: Path, written: str) -> None:
    outcome = sh(tmp_path, 'printf %s "$1" > "$2"; echo 7', written, "{results}")
    assert (outcome.value, outcome.failure) == (2.5, None)
    assert outcome.also == ({"lift": 0.25} if "lift" in written else {})


def test_without_a_results_file_the_last_line_that_is_printed_counts(tmp_path: Path) -> None:
    assert sh(tmp_path, "echo 1; echo 2; echo; echo 3 >&2").value == 2.0
    assert sh(tmp_path, """echo '{"drag": 2, "lift": 3}'""").also == {"lift": 3.0}


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 7; : {results}", "left no results file"),
        ("mkdir {results}", "the results file cannot be read: Is a directory"),
        ("echo nothing > {results}", "the results file is neither a number nor JSON: 'nothing'"),
        ("echo nan > {results}", "nan"),
        ("echo '{\"lift\": 1}' > {results}", "drag"),
        ("true", "the last line of standard output is neither"),
        ("echo 3 > {results}; echo mesh folds; echo bad >&2; exit 3", "exit code 3"),
        ("kill -SEGV $$", "signal 11"),
    ],
)
def test_what_is_not_a_result_is_an_error(tmp_path: Path, script: str, says: str) -> None:
    kind, message = failure(sh(tmp_path, script))
    assert kind == "error"
    assert says in message
    if "mesh" in script:
        assert "mesh folds" in message
        assert "bad" in message


@pytest.mark.parametrize(("code", "kind"), [(65, "infeasible"), (75, "infrastructure"), (1, "error")])
def test_exit_codes_say_what_kind_of_failure(tmp_path: Path, code: int, kind: str) -> None:
    assert failure(sh(tmp_path, f"echo why >&2; exit {code}"))[0] == kind


def test_only_the_end_of_a_long_log_is_told(tmp_path: Path) -> None:
    _, message = failure(sh(tmp_path, "seq 1 100000; exit 1"))
    assert message.endswith("\n100000")
    assert len(message) < 5000


def test_the_environment_is_the_workers_without_its_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOISE_TOKEN", "secret")
    monkeypatch.setenv("LICENCE_SERVER", "here")
    sh(tmp_path, "env > ../env; echo 1")
    found = dict(line.split("=", 1) for line in (tmp_path / "work/env").read_text().splitlines())
    assert found["LICENCE_SERVER"] == "here"
    assert {name: value for name, value in found.items() if name.startswith("COUNTERPOISE_")} == {
        "COUNTERPOISE_STUDY": "wing",
        "COUNTERPOISE_SAMPLE": "17",
        "COUNTERPOISE_OBJECTIVE": "drag",
        "COUNTERPOISE_ATTEMPT": "2",
        "COUNTERPOISE_SEED": "99",
    }


@pytest.mark.parametrize(
    ("keep", "code", "kept"),
    [("always", 0, 1), ("always", 1, 1), ("failed", 0, 0), ("failed", 1, 1), ("never", 0, 0), ("never", 1, 0)],
)
def test_folders_are_kept_as_said(tmp_path: Path, keep: Keep, code: int, kept: int) -> None:
    outcome = sh(tmp_path, f"echo 1; echo warning >&2; exit {code}", keep=keep)
    folders = list(tmp_path.glob("work/wing-drag-17-2-*"))
    assert len(folders) == kept
    if kept:
        assert (folders[0] / "stdout.txt").read_text() == "1\n"
        assert (folders[0] / "stderr.txt").read_text() == "warning\n"
        assert outcome.failure is None or str(folders[0]) in outcome.failure.message


def test_files_of_the_workers_folder_are_found_in_the_jobs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "crash.sh"
    script.write_text("#!/bin/sh\npwd > ../pwd; echo 4\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path, "./crash.sh").value == 4.0
    assert run(tmp_path, "sh", "crash.sh").value == 4.0
    assert run(tmp_path, "sh", "-c", f"echo 4 # {'and so on ' * 100}").value == 4.0  # no name of a file is so long
    assert (tmp_path / "work/pwd").read_text().startswith(str(tmp_path / "work/wing-drag-17-2-"))


def test_what_cannot_work_is_said_before_any_job(tmp_path: Path) -> None:
    with pytest.raises(CommandUnusable, match="there is no command 'no-such-solver'; give its path"):
        CommandEvaluator(["no-such-solver"], tmp_path).check()
    (tmp_path / "crash.sh").write_text("#!/bin/sh\n")
    with pytest.raises(CommandUnusable, match=r"crash.sh is not executable; say: chmod \+x "):
        CommandEvaluator([str(tmp_path / "crash.sh")], tmp_path).check()
    with pytest.raises(CommandUnusable, match="there is no placeholder 'result'; did you mean 'results'"):
        CommandEvaluator(["sh", "{result}"], tmp_path).check()
    (tmp_path / "file").touch()
    with pytest.raises(CommandUnusable, match=r"cannot write into .*file: "):
        CommandEvaluator(["sh"], tmp_path / "file").check()


def test_a_full_disk_is_the_nodes_fault_and_keeps_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    kind, message = failure(sh(tmp_path, "echo 1"))
    assert (kind, "No space left on device" in message) == ("infrastructure", True)
    assert list((tmp_path / "work").iterdir()) == []


def test_what_cannot_be_started_does_not_count_against_the_simulation(tmp_path: Path) -> None:
    kind, message = failure(sh(tmp_path, "echo {x.spam}"))
    assert kind == "infrastructure"
    assert "no variable 'spam' in study 'wing', only span, ribs" in message
    assert list((tmp_path / "work").iterdir()) == []
    solver = tmp_path / "solver"
    solver.write_text("#!/no/such/interpreter\n")
    solver.chmod(0o755)
    kind, message = failure(run(tmp_path, str(solver)))
    assert kind == "infrastructure"
    assert "No such file" in message


def family_of(tmp_path: Path, names: set[str]) -> dict[str, psutil.Process]:
    """The processes that a script wrote down."""

    def look() -> dict[str, psutil.Process] | None:
        files = {file.name: file.read_text() for file in (tmp_path / "work").glob("*.pid")}
        complete = {name.removesuffix(".pid"): text for name, text in files.items() if text.endswith("\n")}
        return {name: psutil.Process(int(text)) for name, text in complete.items()} if names <= set(complete) else None

    return eventually(look, "the command's processes")


# A child in the group, a daemon in a session of its own, and the command itself, deaf to SIGTERM.
STUBBORN = """
sh -c 'echo $$ > ../child.pid; exec sleep 1000' &
setsid sh -c 'sleep 1000 & echo $! > ../daemon.pid'
trap '' TERM
echo $$ > ../main.pid
while true; do sleep 1000; done
"""
FAMILY = {"main", "child", "daemon"}


def gone(family: dict[str, psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != "zombie" for process in family.values())


def test_cancelling_ends_everything_that_the_command_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.worker.evaluators.command_evaluator.GRACE_S", 0.2)
    with started(tmp_path, "sh", "-c", STUBBORN) as running:
        family = family_of(tmp_path, FAMILY)
        assert running.wait(0.0) is None
        running.cancel("it took too long")
        running.cancel("again")
        outcome = running.wait(None)
        assert outcome is not None
        assert gone(family)
    assert failure(outcome)[0] == "error"
    assert "it took too long" in failure(outcome)[1]
    running.cancel("after its end")
    assert running.wait(0.0) is outcome


def test_a_command_may_end_itself_well_when_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "counterpoise.worker.evaluators.command_evaluator.GRACE_S", 10_000.0
    )  # and nobody waits for all of it
    script = (
        "sleep 1000 & trap 'echo tidied >&2; exit 0' TERM; echo 1 > {results}; echo $$ > ../main.pid; wait; sleep 1000"
    )
    with started(tmp_path, "sh", "-c", script) as running:
        family_of(tmp_path, {"main"})
        running.cancel("not needed any more")
        outcome = running.wait(None)
    assert outcome is not None
    kind, message = failure(outcome)  # what it wrote may be half of it
    assert kind == "error"
    assert "tidied" in message


def test_closing_does_not_wait_for_a_stubborn_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.worker.evaluators.command_evaluator.GRACE_S", 10_000.0)
    with started(tmp_path, "sh", "-c", STUBBORN) as running:
        family = family_of(tmp_path, FAMILY)
        running.cancel("gently first")
    assert gone(family)


def test_what_a_finished_command_left_running_is_ended(tmp_path: Path) -> None:
    outcome = sh(tmp_path, "sleep 1000 & echo $! > ../child.pid; echo 3")
    assert outcome.value == 3.0
    pid = int((tmp_path / "work/child.pid").read_text())
    assert not psutil.pid_exists(pid)


WORKER = """
import sys, time
from pathlib import Path
from counterpoise.worker.evaluators import command_evaluator as command
from tests.workers.jobs import JOB
command.GRACE_S = 0.2
command.CommandEvaluator(["sh", "-c", sys.argv[2]], Path(sys.argv[1])).start(0, JOB)
time.sleep(1000)
"""


@pytest.mark.parametrize("victim", ["worker", "supervisor"])
def test_a_command_does_not_outlive_a_worker_or_supervisor_that_is_killed(tmp_path: Path, victim: str) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", WORKER, tmp_path / "work", STUBBORN], cwd=root) as worker:
        try:
            family = family_of(tmp_path, FAMILY)
            supervisor = family["main"].parent()
            assert supervisor is not None
            assert supervisor.ppid() == worker.pid
            os.kill(worker.pid if victim == "worker" else supervisor.pid, signal.SIGKILL)
            ended = family if victim == "worker" else {"main": family["main"]}
            eventually(lambda: gone(ended), "the end of the command")
            with suppress(ProcessLookupError):
                os.killpg(family["main"].pid, signal.SIGKILL)
            with suppress(psutil.NoSuchProcess):
                family["daemon"].kill()
        finally:
            worker.kill()


def test_a_signal_for_everybody_is_the_workers_to_answer(tmp_path: Path) -> None:
    script = "trap '' TERM; echo $$ > ../main.pid; while ! test -e ../go; do sleep 0.01; done; echo 6"
    with started(tmp_path, "sh", "-c", script) as running:
        main = family_of(tmp_path, {"main"})["main"]
        supervisor = main.parent()
        assert supervisor is not None
        assert os.getsid(0) not in (os.getsid(supervisor.pid), os.getsid(main.pid))  # a Ctrl-C reaches the worker only
        supervisor.terminate()
        main.terminate()
        (tmp_path / "work/go").touch()
        outcome = running.wait(None)
    assert outcome is not None
    assert outcome.value == 6.0
    assert outcome.duration_s > 0.0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--objective", "crash"], "write crash=package.module:function, or a command after --"),
        (["--objective", "mass=a:b", "--", "sh"], "no objective is left for the command 'sh'"),
        (["--objective", "crash", "--objective", "crash", "--", "sh"], "an objective is named twice"),
        (["--objective", "crash=", "--", "sh"], "is neither NAME=package.module:function nor NAME"),
        (["--objective", "crash", "--", "no-such-solver"], "there is no command 'no-such-solver'"),
        (["--objective", "crash", "--executor", "host:8786", "--", "sh"], "is not dask://HOST:PORT"),
    ],
)
def test_a_worker_that_cannot_work_says_so_at_once(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["worker", "--study", "car", *arguments])
    assert result.exit_code == 2
    assert says in result.stderr


def test_without_dask_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.commands.failure.importlib.util.find_spec", lambda _: None)
    options = ["--study", "car", "--objective", "crash", "--executor", "dask://host:8786"]
    result = CliRunner().invoke(app, ["worker", *options, "--", "sh"])
    assert result.exit_code == 1
    assert "pip install 'counterpoise[dask]'" in result.stderr
