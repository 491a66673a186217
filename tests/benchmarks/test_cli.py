"""The commands, as they are typed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.cli import bench
from benchmarks.commands.arguments import parse_seeds
from benchmarks.commands.output import print_rows
from benchmarks.paper import runner

PAPER = [
    "paper",
    "--problem",
    "dtlz2",
    "--m",
    "3",
    "--rc",
    "2",
    "--seeds",
    "0-1",
    "--budget",
    "111",
]


def _invoke(*arguments: str) -> str:
    result = CliRunner().invoke(bench, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_paper_runs_in_other_processes_and_is_resumed_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "runs.jsonl"
    shown = json.loads(_invoke(*PAPER, "--results", str(file), "--json"))
    assert (shown["problem"], shown["m"], shown["rc"], shown["strategy"]) == (
        "dtlz2",
        3,
        2,
        "sbp-bo",
    )
    assert len(shown["igd_plus"]) == 2
    assert shown["mean"] == pytest.approx(sum(shown["igd_plus"]) / 2)
    assert shown["longest_step_s"] is None  # a budget of 111 has one step, the first
    monkeypatch.setattr(runner, "run", None)  # nothing is run now
    assert json.loads(_invoke(*PAPER, "--results", str(file), "--json")) == shown
    # In one piece
    assert f"{shown['mean']:.3g} ({shown['std']:.2g}, 2)" in _invoke(
        *PAPER, "--results", str(file)
    )


def test_step_splits_its_time_and_compares_with_scikit_learn() -> None:
    shown = json.loads(_invoke("step", "--m", "3", "--steps", "1", "--json"))
    assert shown["step_s"] == pytest.approx(
        shown["fit_s"] + shown["search_s"] + shown["select_s"]
    )
    assert shown["fit_ratio"] == pytest.approx(shown["peer_fit_s"] / shown["fit_s"])
    assert shown["first_s"] > 0


def test_simulate_prints_both_modes_and_their_makespans() -> None:
    shown = _invoke("simulate", "--n", "15", "--budget", "18", "--jitter", "0")
    for text in (
        "overlap: makespan",
        "barrier: makespan 30.0",
        "everybody waits: makespan 30.0",
        "busy in search",
    ):
        assert text in shown


@pytest.mark.parametrize("command", ["paper", "inspect", "gp", "step", "simulate"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    shown = _invoke(command, "--help")
    assert f"Example: counterpoise bench {command}" in shown
    assert "--json" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["paper"], "name at least one"),
        (["paper", "--problem", "zdt1"], "no 'zdt1'"),
        (
            ["paper", "--problem", "dtlz2", "--m", "11"],
            "'--m': Input should be less than or equal to 10",
        ),
        (
            ["paper", "--problem", "dtlz2", "--m", "2"],
            "'--m': Input should be greater than or equal to 3",
        ),
        (["paper", "--problem", "dtlz2", "--all"], "either --problem or --all"),
        (["paper", "--problem", "dtlz2", "--seeds", "x"], "'x' is not like"),
        (["paper", "--problem", "dtlz2", "--strategy", "nsga"], "no 'nsga'"),
        (
            ["inspect", "--seed", "-1"],
            "'--seed': Input should be greater than or equal to 0",
        ),
        (["gp", "--size", "1"], "'--size': Input should be greater than or equal to 2"),
        (
            ["store", "--jobs", "0"],
            "'--jobs': Input should be greater than or equal to 1",
        ),
        (["step", "--m", "12"], "'--m': Input should be less than or equal to 10"),
        (
            ["step", "--seed", "-1"],
            "'--seed': Input should be greater than or equal to 0",
        ),
        (["simulate", "--workers", "1", "--workers", "2"], "once per objective"),
        (
            ["simulate", "--workers", "0"],
            "'--workers': Input should be greater than or equal to 1",
        ),
        (["simulate", "--seeds", "x"], "'x' is not like"),
        (["simulate", "--overlap", "-1"], "auto or a whole number from 0 on"),
        (["simulate", "--planning-s", "long"], "measured or a number from 0 on"),
        (
            ["simulate", "--n", "-1"],
            "'--n': Input should be greater than or equal to 1",
        ),
        (["simulate", "--n", "0"], "'--n': Input should be greater than or equal to 1"),
        (["simulate", "--jitter", "1"], "jitter, failure and vanish in [0, 1)"),
        (["simulate", "--failure", "1"], "jitter, failure and vanish in [0, 1)"),
        (["simulate", "--latency", "0", "--latency", "1"], "finite latency > 0"),
        (
            ["paper", "--problem", "dtlz2", "--strategy", "t-saea"],
            "t-saea on dtlz2, m = 3: this strategy transfers",
        ),
        (
            ["campaign", "wall-clock", "--strategy", "sbp-nogpc"],
            "sbp-nogpc calls the cheap objectives",
        ),
        (["campaign", "tab1", "--slots", "4"], "no run of the campaign"),
        (["simulate", "--latency", "nan", "--latency", "1"], "finite latency > 0"),
    ],
)
def test_a_wrong_option_is_explained(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(bench, arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_seeds_are_ranges_and_lists() -> None:
    assert parse_seeds("0-2,7") == [0, 1, 2, 7]
    assert parse_seeds("100") == [100]


def test_what_is_printed_as_json_is_json() -> None:
    """Python alone reads NaN; a study without one complete sample has no score."""
    shown = _invoke(
        "simulate", "--n", "3", "--budget", "3", "--failure", "0.999", "--json"
    )
    rows = [json.loads(line, parse_constant=pytest.fail) for line in shown.splitlines()]
    assert [row["igd_plus"] for row in rows] == [None, None, None]
    with pytest.raises(ValueError, match="JSON"):
        print_rows([{"score": float("nan")}], True, tuple)
