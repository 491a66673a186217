"""A campaign's rows as text, CSV and Markdown."""

import csv
import io
from collections.abc import Sequence

from rich.table import Table

from benchmarks.campaign.rows import Cell, Row, agreement
from benchmarks.paper.tables import Entry

CAPTION = (
    "mean (standard deviation, runs); + - =: significantly better, worse or neither than"
    " the first column (Wilcoxon rank sum, Holm-Bonferroni per row, 0.05);"
    " [name]: the paper's own column"
)


def header(rows: Sequence[Row]) -> list[str]:
    ours = dict.fromkeys(name for row in rows for name in row.cells)
    papers = dict.fromkeys(name for row in rows for name in row.paper)
    return ["problem", "m", "r", "score", *ours, *(f"[{name}]" for name in papers)]


def body(rows: Sequence[Row]) -> list[list[str]]:
    columns = header(rows)[4:]
    lines = []
    for row in rows:
        line = [row.problem, str(row.m), row.ratios, row.score]
        for name in columns:
            if name.startswith("["):
                line.append(_paper_cell(row.paper.get(name[1:-1])))
            else:
                line.append(_own_cell(row.cells.get(name)))
        lines.append(line)
    return lines


def text(rows: Sequence[Row]) -> Table:
    table = Table(*header(rows), caption=CAPTION)
    for line in body(rows):
        table.add_row(*line)
    return table


def markdown(rows: Sequence[Row]) -> str:
    lines = [header(rows), ["---"] * len(header(rows)), *body(rows)]
    shown = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{shown}\n\n{CAPTION}.\n\n{summary(rows)}\n"


def as_csv(rows: Sequence[Row]) -> str:
    """One line per instance and strategy."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["problem", "m", "r", "score", "strategy", "mean", "std", "runs", "assessment",
         "step_s"]
    )  # fmt: skip
    for row in rows:
        for name, cell in row.cells.items():
            identity = [row.problem, row.m, row.ratios, row.score, name]
            numbers = [f"{cell.mean:.6g}", f"{cell.std:.6g}", len(cell.scores)]
            writer.writerow(
                [*identity, *numbers, cell.assessment, f"{cell.step_s:.4g}"]
            )
    return out.getvalue()


def summary(rows: Sequence[Row]) -> str:
    parts = [
        f"{name} at or below the paper's own mean + 1 std: {within} of {total}"
        for name, (within, total) in agreement(rows).items()
    ]
    wins: dict[str, int] = {}
    for row in rows:
        wins[row.best] = wins.get(row.best, 0) + 1
    best = ", ".join(f"{name} {count}" for name, count in wins.items())
    return "; ".join([*parts, f"best mean of our runs: {best}"])


def _own_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    mark = "" if cell.assessment is None else f" {cell.assessment}"
    return f"{cell.mean:.3g} ({cell.std:.2g}, {len(cell.scores)}){mark}"


def _paper_cell(entry: Entry | None) -> str:
    return "" if entry is None else f"{entry.mean:.3g} ({entry.std:.2g})"
