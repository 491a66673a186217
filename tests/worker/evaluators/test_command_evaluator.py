"""Commands as objectives: their parameters and results, and that no process is left
behind.
"""

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
from counterpoise.worker.evaluators.command_evaluator import (
    CommandEvaluator,
    CommandUnusable,
    Keep,
    resolve,
)
from counterpoise.worker.evaluators.evaluator import Evaluation, EvaluationResult
from counterpoise.worker.evaluators.job_folder import JobFolder
from tests.e2e.processes import eventually
from tests.worker.example_job import JOB, X


@contextmanager
def started(
    tmp_path: Path, *command: str, keep: Keep = Keep.NEVER
) -> Iterator[Evaluation]:
    evaluator = CommandEvaluator(resolve(command), tmp_path / "work", keep)
    evaluator.check()
    try:
        yield evaluator.start(0, JOB)
    finally:
        evaluator.close()


def run(tmp_path: Path, *command: str, keep: Keep = Keep.NEVER) -> EvaluationResult:
    with started(tmp_path, *command, keep=keep) as evaluation:
        result = evaluation.wait(None)
    assert result is not None
    return result


def sh(
    tmp_path: Path, script: str, *arguments: str, keep: Keep = Keep.NEVER
) -> EvaluationResult:
    return run(tmp_path, "sh", "-c", script, "script", *arguments, keep=keep)


def failure(result: EvaluationResult) -> tuple[str, str]:
    assert result.failure is not None
    assert result.value is None
    return result.failure.kind, result.failure.message


def test_the_point_is_in_a_json_file_and_in_a_text_file(tmp_path: Path) -> None:
    result = sh(tmp_path, 'cp "$1" "$2" .. && echo 1', "{params}", "{params_txt}")
    assert result.value == 1.0
    assert json.loads((tmp_path / "work/params.json").read_text()) == X
    assert (tmp_path / "work/params.txt").read_text() == "span 2.5\nribs 7\n"


def test_variables_can_be_arguments_and_other_braces_stay(tmp_path: Path) -> None:
    result = run(tmp_path, "awk", "BEGIN {print {x.span} * {x.ribs}}")
    assert result.value == 17.5


@pytest.mark.parametrize(
    "written", ["2.5", " 2.5e0\n\n", '{"drag": 2.5}', '{"drag": 2.5, "lift": 0.25}']
)
def test_results_are_read_from_their_file(tmp_path: Path, written: str) -> None:
    result = sh(tmp_path, 'printf %s "$1" > "$2"; echo 7', written, "{results}")
    assert (result.value, result.failure) == (2.5, None)
    assert result.also == ({"lift": 0.25} if "lift" in written else {})


def test_without_a_results_file_the_last_printed_line_is_the_result(
    tmp_path: Path,
) -> None:
    assert sh(tmp_path, "echo 1; echo 2; echo; echo 3 >&2").value == 2.0
    assert sh(tmp_path, """echo '{"drag": 2, "lift": 3}'""").also == {"lift": 3.0}


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo 7; : {results}", "wrote no results file"),
        ("mkdir {results}", "the results file cannot be read: Is a directory"),
        (
            "echo nothing > {results}",
            "the results file is neither a number nor JSON: 'nothing'",
        ),
        ("echo nan > {results}", "nan"),
        ("echo '{\"lift\": 1}' > {results}", "drag"),
        ("true", "the last line of standard output is neither"),
        ("echo 3 > {results}; echo mesh folds; echo bad >&2; exit 3", "exit code 3"),
        ("kill -SEGV $$", "signal 11"),
    ],
)
def test_an_unusable_result_is_an_error(tmp_path: Path, script: str, text: str) -> None:
    kind, message = failure(sh(tmp_path, script))
    assert kind == "error"
    assert text in message
    if "mesh" in script:
        assert "mesh folds" in message
        assert "bad" in message


@pytest.mark.parametrize(
    ("code", "kind"), [(65, "infeasible"), (75, "infrastructure"), (1, "error")]
)
def test_exit_codes_mean_kinds_of_failure(tmp_path: Path, code: int, kind: str) -> None:
    assert failure(sh(tmp_path, f"echo why >&2; exit {code}"))[0] == kind


def test_the_log_line_of_a_failed_command_has_exit_code_and_last_error_line(
    tmp_path: Path,
) -> None:
    result = sh(tmp_path, "echo fine; echo a >&2; echo no licence >&2; exit 3")
    assert result.summary == "the command ended with exit code 3: no licence"


def test_a_module_of_the_workers_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_module.py").write_text("print(8)")
    assert sh(tmp_path, f"{sys.executable} -m own_module").value == 8.0


def test_a_variable_that_there_is_not_is_refused_at_the_start(tmp_path: Path) -> None:
    evaluator = CommandEvaluator(
        ["echo", "{x.spn}"], tmp_path, variables=["span", "skin"]
    )
    with pytest.raises(CommandUnusable, match="did you mean 'span'"):
        evaluator.check()


def test_only_the_end_of_a_long_log_is_told(tmp_path: Path) -> None:
    _, message = failure(sh(tmp_path, "seq 1 100000; exit 1"))
    assert message.endswith("\n100000")
    assert len(message) < 5000


def test_the_environment_is_the_workers_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERPOISE_TOKEN", "secret")
    monkeypatch.setenv("LICENCE_SERVER", "here")
    sh(tmp_path, "env > ../env; echo 1")
    found = dict(
        line.split("=", 1) for line in (tmp_path / "work/env").read_text().splitlines()
    )
    assert found["LICENCE_SERVER"] == "here"
    assert {
        name: value for name, value in found.items() if name.startswith("COUNTERPOISE_")
    } == {
        "COUNTERPOISE_STUDY": "wing",
        "COUNTERPOISE_SAMPLE": "17",
        "COUNTERPOISE_OBJECTIVE": "drag",
        "COUNTERPOISE_ATTEMPT": "2",
        "COUNTERPOISE_SEED": "99",
        "COUNTERPOISE_ALSO": "lift",
    }


@pytest.mark.parametrize(
    ("keep", "code", "kept"),
    [
        (Keep.ALWAYS, 0, 1),
        (Keep.ALWAYS, 1, 1),
        (Keep.FAILED, 0, 0),
        (Keep.FAILED, 1, 1),
        (Keep.NEVER, 0, 0),
        (Keep.NEVER, 1, 0),
    ],
)
def test_folders_are_kept_as_chosen(
    tmp_path: Path, keep: Keep, code: int, kept: int
) -> None:
    result = sh(tmp_path, f"echo 1; echo warning >&2; exit {code}", keep=keep)
    folders = list(tmp_path.glob("work/wing-drag-17-2-*"))
    assert len(folders) == kept
    if kept:
        assert (folders[0] / "stdout.txt").read_text() == "1\n"
        assert (folders[0] / "stderr.txt").read_text() == "warning\n"
        assert result.failure is None or str(folders[0]) in result.failure.message


def test_files_of_the_workers_folder_are_found_in_the_jobs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "crash.sh"
    script.write_text("#!/bin/sh\npwd > ../pwd; echo 4\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path, "./crash.sh").value == 4.0
    assert run(tmp_path, "sh", "crash.sh").value == 4.0
    # Too long for the name of a file
    assert run(tmp_path, "sh", "-c", f"echo 4 # {'and so on ' * 100}").value == 4.0
    assert (
        (tmp_path / "work/pwd")
        .read_text()
        .startswith(str(tmp_path / "work/wing-drag-17-2-"))
    )


def test_an_unusable_command_is_reported_before_any_job(tmp_path: Path) -> None:
    with pytest.raises(
        CommandUnusable, match="there is no command 'no-such-solver'; give its path"
    ):
        CommandEvaluator(["no-such-solver"], tmp_path).check()
    (tmp_path / "crash.sh").write_text("#!/bin/sh\n")
    with pytest.raises(
        CommandUnusable, match=r"crash.sh is not executable; run: chmod \+x "
    ):
        CommandEvaluator([str(tmp_path / "crash.sh")], tmp_path).check()
    with pytest.raises(
        CommandUnusable,
        match="there is no placeholder 'result'; did you mean 'results'",
    ):
        CommandEvaluator(["sh", "{result}"], tmp_path).check()
    (tmp_path / "file").touch()
    with pytest.raises(CommandUnusable, match=r"cannot write into .*file: "):
        CommandEvaluator(["sh"], tmp_path / "file").check()


def test_a_full_disk_is_an_infrastructure_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    kind, message = failure(sh(tmp_path, "echo 1"))
    assert (kind, "No space left on device" in message) == ("infrastructure", True)
    assert list((tmp_path / "work").iterdir()) == []


def test_a_command_that_cannot_be_started_is_an_infrastructure_failure(
    tmp_path: Path,
) -> None:
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
    """The processes whose ids a script has written into files."""

    def look() -> dict[str, psutil.Process] | None:
        files = {
            file.name: file.read_text() for file in (tmp_path / "work").glob("*.pid")
        }
        complete = {
            name.removesuffix(".pid"): text
            for name, text in files.items()
            if text.endswith("\n")
        }
        return (
            {name: psutil.Process(int(text)) for name, text in complete.items()}
            if names <= set(complete)
            else None
        )

    return eventually(look, "the command's processes")


# A child in the group, a daemon in a session of its own, and the command itself, which
# ignores SIGTERM.
IGNORES_SIGTERM = """
sh -c 'echo $$ > ../child.pid; exec sleep 1000' &
setsid sh -c 'sleep 1000 & echo $! > ../daemon.pid'
trap '' TERM
echo $$ > ../main.pid
while true; do sleep 1000; done
"""
FAMILY = {"main", "child", "daemon"}


def gone(family: dict[str, psutil.Process]) -> bool:
    return not any(
        process.is_running() and process.status() != "zombie"
        for process in family.values()
    )


def test_cancelling_ends_everything_that_the_command_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("counterpoise.worker.evaluators.command_evaluator.GRACE_S", 0.2)
    with started(tmp_path, "sh", "-c", IGNORES_SIGTERM) as evaluation:
        family = family_of(tmp_path, FAMILY)
        assert evaluation.wait(0.0) is None
        evaluation.cancel("it took too long")
        evaluation.cancel("again")
        result = evaluation.wait(None)
        assert result is not None
        assert gone(family)
    assert failure(result)[0] == "error"
    assert "it took too long" in failure(result)[1]
    evaluation.cancel("after its end")
    assert evaluation.wait(0.0) is result


def test_a_command_may_end_by_itself_after_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "counterpoise.worker.evaluators.command_evaluator.GRACE_S", 10_000.0
    )
    script = (
        "sleep 1000 & trap 'echo tidied >&2; exit 0' TERM; "
        "echo 1 > {results}; echo $$ > ../main.pid; wait; sleep 1000"
    )
    with started(tmp_path, "sh", "-c", script) as evaluation:
        family_of(tmp_path, {"main"})
        evaluation.cancel("not needed any more")
        result = evaluation.wait(None)
    assert result is not None
    kind, message = failure(result)  # its results may be incomplete
    assert kind == "error"
    assert "tidied" in message


def test_close_ends_a_command_that_ignores_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "counterpoise.worker.evaluators.command_evaluator.GRACE_S", 10_000.0
    )
    with started(tmp_path, "sh", "-c", IGNORES_SIGTERM) as evaluation:
        family = family_of(tmp_path, FAMILY)
        evaluation.cancel("gently first")
    assert gone(family)


def test_processes_that_a_finished_command_has_left_are_ended(tmp_path: Path) -> None:
    result = sh(tmp_path, "sleep 1000 & echo $! > ../child.pid; echo 3")
    assert result.value == 3.0
    pid = int((tmp_path / "work/child.pid").read_text())
    assert not psutil.pid_exists(pid)


WORKER = """
import sys, time
from pathlib import Path
from counterpoise.worker.evaluators import command_evaluator as command
from tests.worker.example_job import JOB
command.GRACE_S = 0.2
command.CommandEvaluator(["sh", "-c", sys.argv[2]], Path(sys.argv[1])).start(0, JOB)
time.sleep(1000)
"""


@pytest.mark.parametrize("victim", ["worker", "supervisor"])
def test_a_command_does_not_outlive_a_worker_or_supervisor_that_is_killed(
    tmp_path: Path, victim: str
) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, tmp_path / "work", IGNORES_SIGTERM], cwd=root
    ) as worker:
        try:
            family = family_of(tmp_path, FAMILY)
            supervisor = family["main"].parent()
            assert supervisor is not None
            assert supervisor.ppid() == worker.pid
            os.kill(
                worker.pid if victim == "worker" else supervisor.pid, signal.SIGKILL
            )
            ended = family if victim == "worker" else {"main": family["main"]}
            eventually(lambda: gone(ended), "the end of the command")
            with suppress(ProcessLookupError):
                os.killpg(family["main"].pid, signal.SIGKILL)
            with suppress(psutil.NoSuchProcess):
                family["daemon"].kill()
        finally:
            worker.kill()


def test_a_signal_to_all_processes_is_handled_by_the_worker_alone(
    tmp_path: Path,
) -> None:
    script = "trap '' TERM; echo $$ > ../main.pid; while ! test -e ../go; do sleep 0.01; done; echo 6"
    with started(tmp_path, "sh", "-c", script) as evaluation:
        main = family_of(tmp_path, {"main"})["main"]
        supervisor = main.parent()
        assert supervisor is not None
        # Ctrl-C reaches only the worker
        assert os.getsid(0) not in (
            os.getsid(supervisor.pid),
            os.getsid(main.pid),
        )
        supervisor.terminate()
        main.terminate()
        (tmp_path / "work/go").touch()
        result = evaluation.wait(None)
    assert result is not None
    assert result.value == 6.0
    assert result.duration_s > 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--objective", "crash"],
            "write crash=package.module:function, or a command after --",
        ),
        (
            ["--objective", "mass=a:b", "--", "sh"],
            "no objective is left for the command 'sh'",
        ),
        (
            ["--objective", "crash", "--objective", "crash", "--", "sh"],
            "an objective is named twice",
        ),
        (
            ["--objective", "crash=", "--", "sh"],
            "is neither NAME=package.module:function nor NAME",
        ),
        (
            ["--objective", "crash", "--", "no-such-solver"],
            "there is no command 'no-such-solver'",
        ),
        (
            ["--objective", "crash", "--executor", "host:8786", "--", "sh"],
            "is not dask://HOST:PORT",
        ),
    ],
)
def test_wrong_usage_is_reported_at_once(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["worker", "--study", "car", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr


def test_without_dask_the_message_has_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "counterpoise.commands.output.importlib.util.find_spec", lambda _: None
    )
    options = [
        "--study",
        "car",
        "--objective",
        "crash",
        "--executor",
        "dask://host:8786",
    ]
    result = CliRunner().invoke(app, ["worker", *options, "--", "sh"])
    assert result.exit_code == 1
    assert "pip install 'counterpoise[dask]'" in result.stderr


def test_names_of_a_server_lead_to_no_other_folder(tmp_path: Path) -> None:
    job = JOB.model_copy(update={"study": "../../up", "objective": "/etc/x"})
    folder = JobFolder.make(tmp_path / "work", job)
    assert folder.path.parent == tmp_path / "work"
