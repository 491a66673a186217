"""Scores of one column relative to those of another with the same problem and seed.

With five runs of each instance, a rank sum test can hardly find a difference between
many columns; the pairs of all instances together can.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, stdev

from scipy.stats import wilcoxon

from benchmarks.campaign.rows import Row


@dataclass(frozen=True, slots=True)
class Ratio:
    """A geometric mean."""

    mean: float
    error: float  # standard error; 0 with a single run
    runs: int
    p: float  # of Wilcoxon's signed rank test of the logarithms

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.error:.2g}, {self.runs})"


def ratio_of(rows: Iterable[Row], column: str, reference: str) -> Ratio | None:
    """Over all rows, and the seeds that both columns have; None: there are none."""
    logs: list[float] = []
    for row in rows:
        logs += map(log, _ratios(row, column, reference))
    if not logs:
        return None
    mean = exp(fmean(logs))
    spread = stdev(logs) / sqrt(len(logs)) if len(logs) > 1 else 0.0
    p = float(wilcoxon(logs).pvalue) if any(logs) else 1.0
    return Ratio(mean, mean * spread, len(logs), p)


def _ratios(row: Row, column: str, reference: str) -> list[float]:
    """Of one problem, by seed."""
    known, changed = row.cells.get(reference), row.cells.get(column)
    if known is None or changed is None:
        return []
    of_reference = dict(zip(known.seeds, known.scores, strict=True))
    pairs = zip(changed.seeds, changed.scores, strict=True)
    return [score / of_reference[seed] for seed, score in pairs if seed in of_reference]
