"""Python functions in evaluation processes: what they return and raise, crashes, hangs,
cancels.
"""

import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from counterpoise.wire.codes import FailureKind
from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluator import (
    MESSAGE_TAIL,
    EvaluationResult,
    result_of,
)
from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator
from counterpoise.worker.evaluators.function_reference import (
    FunctionReference,
    FunctionUnusable,
)
from tests.e2e.processes import PATIENCE_S, children, eventually
from tests.worker.example_job import JOB

KINDS = ["infeasible", "infrastructure", "raises", "leaves", "segfault", "exits"]
NAMES = [
    "quick",
    "several",
    "knows_its_job",
    "hangs",
    "talks",
    "process",
    "forks",
    *KINDS,
]


def job(objective: str) -> Job:
    return JOB.model_copy(update={"objective": objective})


@pytest.fixture(scope="module")
def evaluator() -> Iterator[FunctionEvaluator]:
    functions = {
        name: FunctionReference("tests.worker.simulations", name) for name in NAMES
    }
    functions["drag"] = functions["several"]
    evaluator = FunctionEvaluator(functions)
    evaluator.check()
    yield evaluator
    evaluator.close()


def run(evaluator: FunctionEvaluator, name: str) -> EvaluationResult:
    result = evaluator.start(0, job(name)).wait(PATIENCE_S)
    assert result is not None
    return result


def test_a_returned_number(evaluator: FunctionEvaluator) -> None:
    result = run(evaluator, "quick")
    assert (result.value, result.failure, result.also) == (6.25, None, {})
    assert result.duration_s >= 0


def test_returned_numbers_by_name(evaluator: FunctionEvaluator) -> None:
    result = run(evaluator, "drag")
    assert (result.value, result.also) == (2.5, {"lift": 5.0})


def test_a_function_with_a_job_parameter(evaluator: FunctionEvaluator) -> None:
    assert run(evaluator, "knows_its_job").value == JOB.seed


@pytest.mark.parametrize(
    ("name", "kind", "messages"),
    [
        ("infeasible", "infeasible", ["counterpoise.Infeasible: span 2.5 folds"]),
        (
            "infrastructure",
            "infrastructure",
            ["counterpoise.Infrastructure: no licence"],
        ),
        (
            "raises",
            "error",
            [
                "ZeroDivisionError: nothing to divide",
                "--- printed ---\nbefore the trouble\n",
            ],
        ),
        ("leaves", "error", ["SystemExit: enough"]),
        (
            "segfault",
            "error",
            ["was ended by signal SIGSEGV", "before the crash\n", "in segfault\n"],
        ),
        ("exits", "error", ["ended with exit code 3"]),
    ],
)
def test_a_failure_has_its_kind_and_the_end_of_the_output(
    evaluator: FunctionEvaluator, name: str, kind: str, messages: list[str]
) -> None:
    result = run(evaluator, name)
    assert result.value is None
    assert result.failure is not None
    assert result.failure.kind == kind
    for text in messages:
        assert text in result.failure.message
    # In another process, if this one has ended
    assert run(evaluator, "quick").value == 6.25


def test_only_the_end_of_long_output_is_kept_and_none_of_another_job(
    evaluator: FunctionEvaluator,
) -> None:
    run(evaluator, "quick")
    message = run(evaluator, "talks").failure.message  # type: ignore[union-attr]
    assert message.endswith("line 99999\n")
    assert "looking at" not in message
    assert len(message) < 3 * MESSAGE_TAIL


def test_one_process_evaluates_job_after_job(evaluator: FunctionEvaluator) -> None:
    assert run(evaluator, "process").value == run(evaluator, "process").value


def test_a_function_that_forks_has_one_result(evaluator: FunctionEvaluator) -> None:
    assert [
        run(evaluator, name).value for name in ("forks", "quick", "forks", "quick")
    ] == [7.0, 6.25, 7.0, 6.25]


def test_slots_do_not_wait_for_each_other(evaluator: FunctionEvaluator) -> None:
    hanging = evaluator.start(1, job("hangs"))
    assert run(evaluator, "quick").value == 6.25
    assert hanging.wait(0.0) is None
    hanging.cancel("enough")
    assert hanging.wait(PATIENCE_S) is not None


def test_cancel_ends_a_wait_and_everything_that_was_started(
    evaluator: FunctionEvaluator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    evaluation = evaluator.start(2, job("hangs"))
    eventually(
        lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text(),
        "the simulation",
    )
    family = [
        psutil.Process(int(pid)) for pid in (tmp_path / "pids").read_text().split()
    ]
    threading.Timer(
        0.1, evaluation.cancel, ["cancelled: the study was stopped"]
    ).start()
    result = evaluation.wait(PATIENCE_S)
    assert result is not None
    assert result.failure is not None
    assert result.failure.message.startswith(
        "cancelled: the study was stopped\n--- printed ---\nhanging"
    )
    assert psutil.wait_procs(family, PATIENCE_S)[1] == []


def test_a_late_cancel_does_not_end_the_next_job(evaluator: FunctionEvaluator) -> None:
    first = evaluator.start(0, job("quick"))
    assert first.wait(PATIENCE_S) is not None
    second = evaluator.start(0, job("hangs"))
    first.cancel("too late")
    assert second.wait(0.5) is None
    second.cancel("enough")
    assert second.wait(PATIENCE_S) is not None


def test_a_process_that_was_killed_while_idle_is_replaced(
    evaluator: FunctionEvaluator,
) -> None:
    pid = run(evaluator, "process").value
    assert pid is not None
    psutil.Process(int(pid)).kill()
    eventually(
        lambda: (
            not psutil.pid_exists(int(pid))
            or psutil.Process(int(pid)).status() == "zombie"
        ),
        "its end",
    )
    result = run(evaluator, "process")
    assert result.value not in (None, pid)


KILLED = """
import sys
from counterpoise.worker.evaluators.function_evaluator import FunctionEvaluator
from counterpoise.worker.evaluators.function_reference import FunctionReference
from tests.worker.example_job import JOB
evaluator = FunctionEvaluator({"drag": FunctionReference("tests.worker.simulations", "hangs")})
evaluator.check()
evaluator.start(0, JOB).wait(None)
"""


def test_a_killed_worker_leaves_no_process_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    with subprocess.Popen([sys.executable, "-c", KILLED]) as process:
        eventually(
            lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text(),
            "the simulation",
        )
        family = children(process.pid)
        # The guardian, the simulation, and a process that it has started
        assert len(family) == 3
        process.kill()
    assert psutil.wait_procs(family, PATIENCE_S)[1] == []


# functions that cannot be loaded


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no.such.module:f", "there is no module 'no'"),
        ("tests.worker.simulations:fast", "has no function 'fast'"),
        ("tests.worker.simulations:ctypes", "is a module, not a function"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_reported_before_any_job(
    reference: str, message: str
) -> None:
    evaluator = FunctionEvaluator({"mass": FunctionReference.parse(reference)})
    try:
        with pytest.raises(FunctionUnusable) as caught:
            evaluator.check()
    finally:
        evaluator.close()
    assert "objective 'mass'" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["mass", "a.b:", ":f", ""])
def test_a_text_that_is_not_a_reference(text: str) -> None:
    with pytest.raises(FunctionUnusable, match=r"write package\.module:function"):
        FunctionReference.parse(text)


def test_a_function_that_another_process_cannot_find() -> None:
    def local(x: Any) -> float:
        return 0.0

    for function in (local, lambda _: 0.0):
        with pytest.raises(FunctionUnusable, match="at the top of a module"):
            FunctionReference.of(function)


# returned values


class Scalar:
    """Like a scalar of numpy."""

    def __float__(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    ("returned", "value", "also"),
    [
        (3, 3.0, {}),
        (Scalar(), 0.5, {}),
        ({"drag": 1, "lift": Scalar(), "else": 7}, 1.0, {"lift": 0.5}),
        ({"drag": 1.0}, 1.0, {}),
        ({"drag": 1.0, "lift": math.nan}, 1.0, {}),
    ],
)
def test_a_usable_value(returned: Any, value: float, also: dict[str, float]) -> None:
    result = result_of(returned, JOB, duration_s=2.0, metadata={"a": 1})
    assert result == EvaluationResult(value, also, None, 2.0, {"a": 1})


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (math.nan, "'drag' is nan; a value is a finite number of at most 1e+100"),
        (-math.inf, "'drag' is -inf;"),
        (1e101, "'drag' is 1e+101;"),
        (None, "'drag' returned None, not a number"),
        ("3.0", "'drag' returned '3.0', not a number"),
        (True, "'drag' returned True, not a number"),
        ([1.0], "'drag' returned a list, not a number"),
        ({"drag": "x"}, "'drag' returned 'drag' is 'x', not a number"),
        ({"lift": 1.0}, "no value of 'drag' was returned, only 'lift'"),
        ({}, "no value of 'drag' was returned, only nothing"),
    ],
)
def test_an_unusable_value_is_an_error(returned: Any, message: str) -> None:
    result = result_of(returned, JOB, duration_s=2.0, printed="log")
    assert (result.value, result.duration_s) == (None, 2.0)
    assert result.failure is not None
    assert result.failure.kind is FailureKind.ERROR
    assert result.failure.message.startswith(message)
    assert result.failure.message.endswith("log")


def test_a_function_does_not_get_the_settings_of_the_worker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its code need not be trusted with a token."""
    monkeypatch.setenv("COUNTERPOISE_TOKEN", "secret")
    script = tmp_path / "looks.py"
    script.write_text(
        "import os\n"
        "def secrets(x):\n"
        "    return sum(n.startswith('COUNTERPOISE_') for n in os.environ)\n"
    )
    functions = {"drag": FunctionReference("looks", "secrets")}
    evaluator = FunctionEvaluator(functions, folder=tmp_path)
    try:
        assert run(evaluator, "drag").value == 0.0
    finally:
        evaluator.close()
