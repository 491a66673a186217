"""The campaigns on slow slots: figures by hand, and what is on file is not run again."""

from dataclasses import asdict, replace
from math import inf
from pathlib import Path

import pytest

from benchmarks.virtual_time import beliefs
from benchmarks.virtual_time.results_file import run_missing
from benchmarks.virtual_time.slots import (
    Cell,
    Row,
    cell_of,
    improvements,
    markdown,
    run_cell,
    score_ratio,
    table,
    time_ratio,
)

CELL = Cell("dtlz2", 4, 0, d=4, budget=46, log_sigma=0.5, planning_s=0.5)


def row(overlap: list[tuple[float, float]], barrier: list[tuple[float, float]]) -> Row:
    histories = {"overlap": overlap, "batches of 3": barrier, "batches of W": barrier}
    modes = {
        name: {"busy_in_search": 0.5, "igd_plus": history[-1][1], "history": history}
        for name, history in histories.items()
    }
    return asdict(CELL) | {"modes": modes}


def test_ratios_to_the_barrier() -> None:
    barrier = [(10.0, 0.8), (40.0, 0.4), (50.0, 0.4)]
    faster = row([(10.0, 0.8), (30.0, 0.3)], barrier)
    assert time_ratio(faster, "batches of 3") == pytest.approx(30.0 / 40.0)
    assert score_ratio(faster, "batches of 3") == pytest.approx(0.75)
    worse = row([(10.0, 0.8), (20.0, 0.5)], barrier)
    assert time_ratio(worse, "batches of 3") == inf
    assert score_ratio(worse, "batches of 3") == pytest.approx(1.25)
    cells = [list(column.cells) for column in table([faster, worse]).columns]
    assert [column[0] for column in cells[:4]] == ["dtlz2", "4", "2", "50.0%"]
    assert [column[0] for column in cells[4:8]] == ["50.0%", "-", "1/2", "1.00"]
    last = markdown([faster, worse]).splitlines()[-1]
    assert last.startswith("| dtlz2 | 4 | 2 | 50.0% | 50.0% | - | 1/2 | 1.00 |")


def test_only_improvements_are_kept() -> None:
    history = ((1.0, 0.5), (2.00049, 0.5), (3.00049, 0.25), (4.0, 0.25))
    assert improvements(history) == [[1.0, 0.5], [3.0, 0.25]]


def test_a_cell_is_run_with_overlap_and_both_barriers() -> None:
    found = run_cell(CELL)
    modes = found["modes"]
    assert {name: each["slow_evaluations"] for name, each in modes.items()} == {
        "overlap": 46,
        "batches of 3": 46,
        "batches of W": 46,
    }
    # Three samples are left after the design: one batch of 3, or of 4 slots
    assert modes["batches of 3"]["steps"] == modes["batches of W"]["steps"] == 1
    assert cell_of(found) == CELL


def test_what_is_on_file_is_not_run_again(tmp_path: Path) -> None:
    ran = []

    def run(cell: Cell) -> Row:
        ran.append(cell)
        return asdict(cell) | {"modes": {}}

    results = tmp_path / "slots.jsonl"
    cells = [CELL, replace(CELL, seed=1)]

    def go_on(count: int) -> list[Row]:
        return run_missing(cells[:count], results, cell_of, run, lambda: None)

    go_on(1)
    assert len(go_on(2)) == 2
    assert ran == cells
    rows = run_missing(cells, results, cell_of, None, lambda: None)
    assert [cell_of(each) for each in rows] == cells


def test_beliefs_are_compared_by_the_geometric_mean() -> None:
    rows = [
        asdict(CELL) | {"mean": 1.0, "pessimistic": 0.5},
        asdict(replace(CELL, seed=1)) | {"mean": 1.0, "pessimistic": 2.0},
    ]
    assert beliefs.cell_of(rows[0]) == CELL
    cells = [list(column.cells) for column in beliefs.table(rows).columns]
    assert [column[0] for column in cells] == ["dtlz2", "4", "2", "1.000", "1/2"]
