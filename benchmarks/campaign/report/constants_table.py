"""What halving and doubling each constant of `counterpoise` does: one row per constant."""

from collections.abc import Sequence

from rich.table import Table

from benchmarks.campaign.paired import ratio_of
from benchmarks.campaign.rows import Row
from benchmarks.campaign.variants import CONSTANTS, Constant

DEFAULT = "counterpoise"
HEADER = ("constant", "default", "halved", "IGD+", "doubled", "IGD+")


def body(rows: Sequence[Row]) -> list[list[str]]:
    return [_line(rows, constant) for constant in CONSTANTS]


def _line(rows: Sequence[Row], constant: Constant) -> list[str]:
    halved = ratio_of(rows, constant.half_column, DEFAULT)
    doubled = ratio_of(rows, constant.double_column, DEFAULT)
    return [
        constant.name,
        f"{constant.value:g}",
        f"{constant.half:g}",
        "" if halved is None else str(halved),
        f"{constant.double:g}",
        "" if doubled is None else str(doubled),
    ]


def caption(rows: Sequence[Row]) -> str:
    problems = ", ".join(dict.fromkeys(row.problem for row in rows))
    return (
        "IGD+ divided by that of the default with the same seed: geometric mean (standard"
        f" error, runs) over {problems}; above 1 the default is better"
    )


def text(rows: Sequence[Row]) -> Table:
    table = Table(*HEADER, caption=caption(rows))
    for line in body(rows):
        table.add_row(*line)
    return table


def markdown(rows: Sequence[Row]) -> str:
    lines = [list(HEADER), ["---"] * len(HEADER), *body(rows)]
    shown = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{shown}\n\n{caption(rows)}.\n\n{summary(rows)}\n"


def summary(rows: Sequence[Row]) -> str:
    """The changes with the smallest and the largest ratio."""
    means: dict[str, float] = {}
    for constant in CONSTANTS:
        for column in (constant.half_column, constant.double_column):
            ratio = ratio_of(rows, column, DEFAULT)
            if ratio is not None:
                means[column] = ratio.mean
    if not means:
        return "no change has been run beside the default"
    least, most = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    return f"least {means[least]:.3f}, `{least}`; largest {means[most]:.3f}, `{most}`"
