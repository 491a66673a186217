"""What a strategy should believe of samples that still run: paired runs in virtual time."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from math import exp, log
from statistics import fmean
from typing import Any

from rich.table import Table

from benchmarks.virtual_time.slots import OVERLAP, Cell, run_cell

Row = dict[str, Any]


def compare_beliefs(cell: Cell) -> Row:
    """Final IGD+ with either belief; the same seed, design and durations."""
    scores = {}
    for belief in ("mean", "pessimistic"):
        found = run_cell(replace(cell, belief=belief), (OVERLAP,))
        scores[belief] = found["modes"][OVERLAP.name]["igd_plus"]
    return {name: found[name] for name in Cell.__slots__ if name != "belief"} | scores


def cell_of(row: Row) -> Cell:
    return Cell(**{name: row[name] for name in Cell.__slots__ if name != "belief"})


def table(rows: Sequence[Row]) -> Table:
    """Geometric means over seeds of IGD+ pessimistic / mean."""
    shown = Table(title="IGD+ at the end: pessimistic belief / mean belief")
    for column in ("problem", "W", "seeds", "ratio", "pessimistic better"):
        shown.add_column(column, justify="left" if column == "problem" else "right")
    ordered = sorted(rows, key=_group)
    for (name, slots), group in groupby(ordered, key=_group):
        shown.add_row(name, str(slots), *_figures(list(group)))
    shown.add_section()
    shown.add_row("all", "", *_figures(ordered))
    return shown


def _group(row: Row) -> tuple[str, int]:
    return row["problem"], row["slots"]


def _figures(rows: Sequence[Row]) -> tuple[str, str, str]:
    ratios = [row["pessimistic"] / row["mean"] for row in rows]
    mean = exp(fmean(log(ratio) for ratio in ratios))
    better = sum(ratio < 1.0 for ratio in ratios)
    return str(len(rows)), f"{mean:.3f}", f"{better}/{len(rows)}"
