"""`counterpoise.optimize` with a real server, from a program without a file."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import counterpoise
from counterpoise.local.processes import RunFailed
from counterpoise.local.run_folder import locked, move_aside
from tests.e2e.processes import environment, eventually

pytestmark = pytest.mark.timeout(900)

PROGRAM = """
import json, sys, time
import counterpoise

scale = 2.0

def mass(x):
    return scale * x["a"]

def optimize(budget, **options):
    return counterpoise.optimize(
        {"a": (0, 1), "b": {"low": 1, "high": 4, "type": "int"}},
        {
            "mass": mass,
            "drag": {"direction": "maximize", "unit": "N", "run": lambda x: DRAG},
        },
        budget=budget, name="plate", initial_samples=4, seed=3, progress=False,
        strategy="random", **options,
    )
"""


def run(folder: Path, program: str) -> "subprocess.CompletedProcess[str]":
    """Through standard input: the functions have no file."""
    return subprocess.run(
        [sys.executable, "-"],
        input=program,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


QUICK = PROGRAM.replace("DRAG", 'x["a"] * x["b"]')


@pytest.mark.slow
def test_functions_of_standard_input_and_a_larger_budget(tmp_path: Path) -> None:
    program = QUICK + (
        "first = optimize(5)\n"
        "second = optimize(6, workers={'mass': 2})\n"
        "frame = second.to_dataframe('front')\n"
        "print(json.dumps([first.finished, first.study.evaluated_full,"
        " second.study.evaluated_full, second.best('mass').values['mass'],"
        " [item.values for item in second.front], [item.x for item in second.front],"
        " list(frame.columns), len(frame), len(second.hypervolume_history)]))\n"
    )
    done = run(tmp_path, program)
    assert done.returncode == 0, done.stderr
    finished, five, six, best, values, points, columns, rows, steps = json.loads(
        done.stdout.splitlines()[-1]
    )
    assert (finished, five, six) == (True, 5, 6)
    for x, value in zip(points, values, strict=True):
        assert value == {"mass": 2.0 * x["a"], "drag": x["a"] * x["b"]}
    assert best == min(value["mass"] for value in values)
    assert columns == ["sample", "step", "a", "b", "mass", "drag"]
    assert rows == len(values)
    assert steps >= 2
    assert (tmp_path / "counterpoise-plate" / "study.db").exists()


def test_ctrl_c_returns_what_there_is(tmp_path: Path) -> None:
    slow = 'time.sleep(3600) if len(sys.argv) and x["b"] > 3 else x["a"]'
    program = PROGRAM.replace("DRAG", slow) + (
        "result = optimize(5)\n"
        "print(json.dumps([result.finished, len(result.samples)]))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(program)
    with subprocess.Popen(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        log = tmp_path / "counterpoise-plate" / "workers.log"
        eventually(
            lambda: log.exists() and "done" in log.read_text(), "the first value"
        )
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    finished, samples = json.loads(output.splitlines()[-1])
    assert not finished
    assert samples >= 4
    assert "the same call goes on" in errors


def test_arguments_that_make_no_study(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"variable 'a' is \(low, high\)"):
        counterpoise.optimize({"a": 3}, {"f": abs}, budget=3)
    with pytest.raises(ValueError, match="objective 'f' has no function"):
        counterpoise.optimize({"a": (0, 1)}, {"f": {}}, budget=30)
    with pytest.raises(ValueError, match="must be less than high"):
        counterpoise.optimize(
            {"a": (1, 0)}, {"f": abs}, budget=30, folder=tmp_path / "f"
        )
    assert not (tmp_path / "f").exists()


def test_a_folder_has_one_run_at_a_time_and_keeps_earlier_ones(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with locked(folder):
        with pytest.raises(RunFailed, match="running"), locked(folder):
            pass
        with pytest.raises(RunFailed):
            move_aside(folder)
    (folder / "front.csv").write_text("kept")
    assert move_aside(folder) == tmp_path / "run.1"
    assert move_aside(folder) is None
    with locked(folder):
        pass
    assert move_aside(folder) == tmp_path / "run.2"
    assert (tmp_path / "run.1" / "front.csv").read_text() == "kept"
