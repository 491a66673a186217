"""Our rows beside the paper's."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks.paper import report
from benchmarks.paper.results import Outcome, Spec


def _outcomes(name: str, m: int, values: list[float], rc: int = 5) -> list[Outcome]:
    return [
        Outcome(Spec(name, m, rc, "sbp-bo", seed), value, 8.0, 0.5, 0.1)
        for seed, value in enumerate(values)
    ]


def test_mean_and_standard_deviation_over_seeds() -> None:
    (row,) = report.rows(reversed(_outcomes("dtlz2", 3, [0.03, 0.04, 0.05])))
    assert row.igd_plus == (0.03, 0.04, 0.05)
    assert row.mean == pytest.approx(0.04)
    assert row.std == pytest.approx(0.01)
    assert report.rows(_outcomes("dtlz2", 3, [0.03]))[0].std == 0.0


@pytest.mark.parametrize(
    (
        "value",
        "within",
        "winner",
    ),  # the paper's SBP-BO: 0.0415 (0.00327), HK-RVEA 0.0598, K-RVEA 0.0752
    [(0.0414, True, "ours"), (0.0447, True, "SBP-BO"), (0.0449, False, "SBP-BO")],
)
def test_within_one_standard_deviation_of_sbp_bo(
    value: float, within: bool, winner: str
) -> None:
    (row,) = report.rows(_outcomes("dtlz2", 3, [value]))
    assert (row.within, row.winner) == (within, winner)


def test_the_summary_counts_instances() -> None:
    rows = report.rows(
        [
            *_outcomes("dtlz2", 3, [0.03]),
            *_outcomes("dtlz2", 5, [9.0]),
            *_outcomes("wfg4", 3, [0.1]),
        ]
    )
    assert report.summary(rows).startswith("at or below SBP-BO mean + 1 std: 2 of 3;")


def test_a_ratio_that_the_paper_does_not_have_has_no_peers() -> None:
    (row,) = report.rows(_outcomes("dtlz2", 3, [0.03], rc=7))
    assert row.within is None
    assert report.as_json(row)["paper"] == {}


def test_settings_are_not_mixed() -> None:
    first, second = _outcomes("dtlz2", 3, [0.03, 0.05])
    other = replace(
        second,
        spec=replace(
            second.spec, settings=replace(second.spec.settings, lattice="large")
        ),
    )
    assert len(report.rows([first, other])) == 2


def test_json_has_what_the_issue_asks_for() -> None:
    (row,) = report.rows(_outcomes("dtlz2", 3, [0.03, 0.05]))
    shown = json.loads(json.dumps(report.as_json(row)))
    expected = {
        "problem": "dtlz2",
        "m": 3,
        "rc": 5,
        "strategy": "sbp-bo",
        "igd_plus": [0.03, 0.05],
        "mean": 0.04,
    }
    assert expected.items() <= shown.items()
    assert shown["std"] == pytest.approx(0.02 / 2**0.5)


def test_the_longest_step_is_that_of_all_runs_that_recorded_it() -> None:
    runs = [
        replace(run, step_s=usual, longest_step_s=longest)
        for run, usual, longest in zip(
            _outcomes("dtlz2", 3, [0.03] * 3),
            (0.1, 0.4, 0.2),
            (0.52, None, 0.31),
            strict=True,
        )
    ]
    (row,) = report.rows(runs)
    assert (row.step_s, row.longest_step_s) == (0.2, 0.52)
    assert {"step_s": 0.2, "longest_step_s": 0.52}.items() <= report.as_json(
        row
    ).items()
    console = Console(width=160)
    with console.capture() as capture:
        console.print(report.table([row]))
    assert "0.52" in capture.get()
    assert report.rows(_outcomes("dtlz2", 3, [0.03]))[0].longest_step_s is None


def test_the_table_shows_all_four_algorithms() -> None:
    console = Console(width=160)
    with console.capture() as capture:
        console.print(report.table(report.rows(_outcomes("dtlz2", 3, [0.03, 0.05]))))
    for text in (
        "dtlz2",
        "0.04 (0.014, 2)",
        "✓",
        "0.0752 (0.01)",
        "0.0598 (0.011)",
        "0.0415 (0.0033)",
        "ours",
    ):
        assert text in capture.get()
