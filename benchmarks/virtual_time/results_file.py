"""Finished simulations on file: those that are there are not run again."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.virtual_time.slots import Cell

Row = dict[str, Any]


def run_missing(
    cells: Iterable[Cell],
    results: Path | None,
    cell_of: Callable[[Row], Cell],
    run: Callable[[Cell], Row] | None,
    advance: Callable[[], None],
) -> list[Row]:
    """The rows of the cells, each on file before the next one is run; without `run`,
    those on file.
    """
    found = {cell_of(row): row for row in _read(results)}
    rows = []
    for cell in cells:
        if cell not in found and run is not None:
            found[cell] = run(cell)
            _add(results, found[cell])
        if cell in found:
            rows.append(found[cell])
        advance()
    return rows


def _read(results: Path | None) -> list[Row]:
    if results is None or not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def _add(results: Path | None, row: Row) -> None:
    if results is not None:
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
