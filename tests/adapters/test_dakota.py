"""Analysis drivers of Dakota, with the files that its manual describes."""

from pathlib import Path

import pytest

from counterpoise.adapters.dakota import (
    DriverFailed,
    parameters,
    read_results,
    wrapped,
)
from counterpoise.worker.evaluators.command_evaluator import CommandEvaluator
from tests.worker.example_job import JOB

# A driver as in Dakota's examples: it reads the parameters file by its descriptors,
# and writes the functions that the active set vector requests.
DRIVER = """#!/bin/sh
awk '
  $2 == "variables" || $2 == "functions" { next }
  $2 ~ /^ASV_/ { sub(/^ASV_[0-9]*:/, "", $2); asv[$2] = $1; next }
  $2 ~ /^DVV_/ { next }
  { x[$2] = $1 }
  END {
    if (asv["mass"]) print x["a"] + x["b"], "mass"
    if (asv["drag"]) print 2 * x["a"], "drag"
    if (asv["lift"]) print 3 * x["a"], "lift"
  }' "$1" > "$2"
"""


def test_a_standard_parameters_file() -> None:
    text = parameters({"a": 1.5, "n": 3}, {"mass": True, "drag": False}, 7)
    rows = [line.split() for line in text.splitlines()]
    assert rows == [
        ["2", "variables"],
        ["1.500000000000000e+00", "a"],
        ["3", "n"],
        ["2", "functions"],
        ["1", "ASV_1:mass"],
        ["0", "ASV_2:drag"],
        ["2", "derivative_variables"],
        ["1", "DVV_1:a"],
        ["2", "DVV_2:n"],
        ["0", "analysis_components"],
        ["7", "eval_id"],
    ]


def test_a_text_is_quoted_in_an_aprepro_file_only() -> None:
    x, active = {"material": "steel"}, {"mass": True}
    assert "steel material" in parameters(x, active, 1)
    assert '= "steel" }' in parameters(x, active, 1, aprepro=True)


def test_an_aprepro_parameters_file() -> None:
    text = parameters({"a": 1.5}, {"mass": True}, 7, aprepro=True)
    rows = [line.strip("{} ").split(" = ") for line in text.splitlines()]
    assert [[name.strip(), value] for name, value in rows] == [
        ["DAKOTA_VARS", "1"],
        ["a", "1.500000000000000e+00"],
        ["DAKOTA_FNS", "1"],
        ["ASV_1:mass", "1"],
        ["DAKOTA_DER_VARS", "1"],
        ["DVV_1:a", "1"],
        ["DAKOTA_AN_COMPS", "0"],
        ["DAKOTA_EVAL_ID", "7"],
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("  1.5e+00 mass\n 2 drag\n", {"mass": 1.5, "drag": 2.0}),
        ("2 drag\n1.5D0 mass\n", {"mass": 1.5, "drag": 2.0}),
        ("1.5\n2\n[ 3 4 ]\n", {"mass": 1.5, "drag": 2.0}),
    ],
)
def test_results_files(text: str, values: dict[str, float]) -> None:
    assert read_results(text, ["mass", "drag"]) == values


@pytest.mark.parametrize("text", ["FAIL\n", "fail", "", "1.5 mass\n"])
def test_results_that_are_a_failure(text: str) -> None:
    with pytest.raises(DriverFailed):
        read_results(text, ["mass", "drag"])


@pytest.mark.parametrize("aprepro", [False, True])
def test_an_unmodified_driver_evaluates_what_is_leased(
    tmp_path: Path, aprepro: bool
) -> None:
    driver = tmp_path / "driver.sh"
    text = DRIVER
    if aprepro:
        text = text.replace('"$1" > "$2"', '> "$2"').replace(
            "awk '", """sed 's/[{}]//g' "$1" | awk -F '[ =]+' '{ $0 = $3 " " $2 } """
        )
    driver.write_text(text)
    driver.chmod(0o755)
    command = wrapped([str(driver)], ["mass", "drag", "lift"], aprepro=aprepro)
    evaluator = CommandEvaluator(command, tmp_path / "work")
    job = JOB.model_copy(update={"objective": "drag", "also": ["lift"]})
    job = job.model_copy(update={"x": {"a": 1.5, "b": 2.0}})
    result = evaluator.start(0, job).wait(60)
    assert result is not None
    assert (result.value, result.also) == (3.0, {"lift": 4.5}), result.failure
    evaluator.close()


def test_a_driver_that_fails(tmp_path: Path) -> None:
    command = wrapped(["sh", "-c", 'echo FAIL > "$2"', "x"], ["drag"])
    evaluator = CommandEvaluator(command, tmp_path / "work")
    job = JOB.model_copy(update={"objective": "drag", "also": []})
    result = evaluator.start(0, job).wait(60)
    assert result is not None
    assert result.failure is not None
    assert "the driver reported a failure" in result.summary
    evaluator.close()
