"""A campaign's rows as records, and as files of a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.campaign.report import tables
from benchmarks.campaign.report.renderers import Renderer
from benchmarks.campaign.rows import Cell, Row
from benchmarks.paper.results import Outcome


def write(
    rows: Sequence[Row], outcomes: Sequence[Outcome], folder: Path, shown: Renderer
) -> None:
    # matplotlib takes a second to import
    from benchmarks.campaign.report.plots import draw

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "table.txt").open("w") as file:
        Console(file=file, width=200).print(shown.text(rows), shown.summary(rows))
    (folder / "table.csv").write_text(tables.as_csv(rows))
    (folder / "table.md").write_text(shown.markdown(rows))
    draw(outcomes, folder)


def as_record(row: Row) -> dict[str, Any]:
    return {
        "problem": row.problem,
        "m": row.m,
        "ratios": row.ratios,
        "slots": row.slots,
        "score": row.score,
        "best": row.best,
        "columns": {name: _as_record(cell) for name, cell in row.cells.items()},
        "paper": {
            name: {"mean": entry.mean, "std": entry.std}
            for name, entry in row.paper.items()
        },
    }


def _as_record(cell: Cell) -> dict[str, Any]:
    return {
        "scores": list(cell.scores),
        "seeds": list(cell.seeds),
        "mean": cell.mean,
        "std": cell.std,
        "assessment": cell.assessment,
        "hypervolume": cell.hypervolume,
        "step_s": cell.step_s,
        "end_s": cell.end_s,
    }
