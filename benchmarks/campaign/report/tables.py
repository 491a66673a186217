"""A campaign's rows as text, CSV and Markdown."""

import csv
import io
from collections.abc import Iterator, Sequence

from rich.table import Table

from benchmarks.campaign.paired import Ratio, ratio_of
from benchmarks.campaign.rows import Cell, Row, agreement, larger_hypervolumes
from benchmarks.campaign.significance import holm
from benchmarks.paper.tables import Entry

CAPTION = (
    "mean (standard deviation, runs); + - =: significantly better, worse or neither than"
    " the first column (Wilcoxon rank sum, Holm-Bonferroni per row, 0.05);"
    " paper: the paper's own column"
)
CAPTION_OF_RATIOS = (
    "relative to another column: geometric mean over all problems and seeds; + - =:"
    " Wilcoxon signed rank over these pairs, Holm-Bonferroni, 0.05"
)
IDENTITY = ("problem", "m", "r", "slots", "score")


def identities(rows: Sequence[Row]) -> tuple[str, ...]:
    """The first columns; slots only where there are any."""
    has_slots = any(row.slots for row in rows)
    return tuple(name for name in IDENTITY if has_slots or name != "slots")


def header(rows: Sequence[Row]) -> list[str]:
    ours = dict.fromkeys(name for row in rows for name in row.cells)
    papers = dict.fromkeys(name for row in rows for name in row.paper)
    return [*identities(rows), *ours, *(f"paper: {name}" for name in papers)]


def body(rows: Sequence[Row]) -> list[list[str]]:
    first = identities(rows)
    columns = header(rows)[len(first) :]
    lines = []
    for row in rows:
        known = dict(zip(IDENTITY, _identity(row), strict=True))
        line = [known[name] for name in first]
        for name in columns:
            if name.startswith("paper: "):
                entry = row.paper.get(name.removeprefix("paper: "))
                line.append(_paper_cell(entry))
            else:
                line.append(_own_cell(row.cells.get(name)))
        lines.append(line)
    return lines


def text(rows: Sequence[Row]) -> Table:
    table = Table(*header(rows), caption=f"{CAPTION}; {CAPTION_OF_RATIOS}")
    for line in body(rows):
        table.add_row(*line)
    return table


def markdown(rows: Sequence[Row]) -> str:
    lines = [header(rows), ["---"] * len(header(rows)), *body(rows)]
    shown = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    remarks = "\n".join(f"- {line}" for line in summary(rows).splitlines())
    return f"{shown}\n\n{CAPTION}; {CAPTION_OF_RATIOS}.\n\n{remarks}\n"


def as_csv(rows: Sequence[Row]) -> str:
    """One line per instance and strategy."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*IDENTITY, "strategy", "mean", "std", "runs", "assessment", "step_s", "end_s"]
    )
    for row in rows:
        for name, cell in row.cells.items():
            identity = [*_identity(row), name]
            numbers = [f"{cell.mean:.6g}", f"{cell.std:.6g}", len(cell.scores)]
            writer.writerow(
                [*identity, *numbers, cell.assessment, f"{cell.step_s:.4g}", cell.end_s]
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
    parts += [f"best mean of our runs: {best}", *relative(rows), *hypervolumes(rows)]
    return "\n".join(parts)


def relative(rows: Sequence[Row]) -> list[str]:
    """Each column relative to the first, by number of objectives; nothing for
    hypervolumes, which can be 0.
    """
    rows = [row for row in rows if row.score != "hypervolume"]
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    if len(columns) < 2:
        return []
    reference, *others = columns
    lines = []
    for m in sorted({row.m for row in rows}):
        of_size = [row for row in rows if row.m == m]
        shown = ", ".join(_ratios(of_size, reference, others))
        if shown:
            lines.append(f"relative to {reference}, m = {m}: {shown}")
    return lines


def hypervolumes(rows: Sequence[Row]) -> list[str]:
    """A second opinion where another score decides."""
    judged = [row for row in rows if row.score != "hypervolume"]
    if not judged:
        return []
    reference = next(iter(judged[0].cells))
    counts = larger_hypervolumes(judged, reference)
    if not counts:
        return []
    shown = [
        f"{name} {larger} of {total}" + (f" ({equal} equal)" if equal else "")
        for name, (larger, equal, total) in counts.items()
    ]
    return [f"mean hypervolume larger than that of {reference}: {', '.join(shown)}"]


def _ratios(
    rows: Sequence[Row], reference: str, columns: Sequence[str]
) -> Iterator[str]:
    ratios: dict[str, Ratio] = {}
    for name in columns:
        ratio = ratio_of(rows, name, reference)
        if ratio is not None:
            ratios[name] = ratio
    significant = holm({name: ratio.p for name, ratio in ratios.items()})
    for name, ratio in ratios.items():
        better_or_worse = "+" if ratio.mean < 1.0 else "-"
        mark = better_or_worse if name in significant else "="
        yield f"{name} {ratio.mean:.2f} {mark}"


def _identity(row: Row) -> list[str]:
    return [row.problem, str(row.m), row.ratios, row.slots, row.score]


def _own_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    mark = "" if cell.assessment is None else f" {cell.assessment}"
    end = "" if cell.end_s is None else f", {cell.end_s / 3600:.1f} h"
    return f"{cell.mean:.3g} ({cell.std:.2g}, {len(cell.scores)}{end}){mark}"


def _paper_cell(entry: Entry | None) -> str:
    return "" if entry is None else f"{entry.mean:.3g} ({entry.std:.2g})"
