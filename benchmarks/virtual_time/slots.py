"""How busy W slots for the slowest objective are, and what planning ahead costs: a
campaign in virtual time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from statistics import fmean, median
from typing import Any

from rich.table import Table
from threadpoolctl import threadpool_limits

from app.optimizer.models.belief import Belief
from app.simulation.pools import Pool
from app.simulation.study import Report
from benchmarks.paper.protocol import choose
from benchmarks.paper.results import Settings
from benchmarks.problems.catalogue import problem
from benchmarks.virtual_time.simulation import Mode, reached, simulate

OVERLAP = Mode("overlap", "auto", "auto")
# Batches of three, as in the paper, and batches that fill the slots
BARRIERS = (Mode("batches of 3"), Mode("batches of W", 0, "auto"))
LATENCIES = (1.0, 1.0, 5.0)
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """One seed of one problem with one number of slots."""

    problem: str
    slots: int  # of each objective
    seed: int
    d: int
    budget: int
    log_sigma: float  # of the slowest objective's durations
    planning_s: float  # of each step; a slow run takes 5 on average
    belief: Belief = "mean"


def run_cell(cell: Cell, modes: Sequence[Mode] = (OVERLAP, *BARRIERS)) -> Row:
    instance = problem(cell.problem, len(LATENCIES), cell.d)
    *cheap, slow = (Pool(latency, cell.slots) for latency in LATENCIES)
    pools = (*cheap, replace(slow, log_sigma=cell.log_sigma))
    strategy = replace(choose("sbp-bo", Settings("range")), belief=cell.belief)
    rows: dict[str, Row] = {}
    with threadpool_limits(limits=1):
        for mode in modes:
            report = simulate(
                instance,
                pools,
                strategy,
                cell.seed,
                mode,
                budget=cell.budget,
                planning_s=cell.planning_s,
            )
            rows[mode.name] = _figures(report)
    return asdict(cell) | {"modes": rows}


def _figures(report: Report) -> Row:
    return {
        "busy_in_search": report.busy_in_search[-1],
        "makespan": report.makespan,
        "igd_plus": report.score,
        "steps": report.steps,
        "slow_evaluations": report.evaluations[-1],
        "history": improvements(report.history),
    }


def improvements(history: Iterable[tuple[float, float]]) -> list[list[float]]:
    """The points at which the score fell."""
    kept: list[list[float]] = []
    for time, score in history:
        if not kept or score < kept[-1][1]:
            kept.append([round(time, 3), score])
    return kept


def cell_of(row: Row) -> Cell:
    return Cell(**{name: row[name] for name in Cell.__slots__})


def time_ratio(row: Row, barrier: str) -> float:
    """When overlap was as good as the barrier at its end, divided by the time that the
    barrier took for it; infinite if it never was.
    """
    own, other = row["modes"][OVERLAP.name], row["modes"][barrier]
    at = reached(own["history"], other["igd_plus"])
    barrier_at = reached(other["history"], other["igd_plus"])
    return inf if at is None or barrier_at is None else at / barrier_at


def score_ratio(row: Row, barrier: str) -> float:
    """IGD+ after the same number of slow evaluations, divided by the barrier's."""
    own, other = row["modes"][OVERLAP.name], row["modes"][barrier]
    return float(own["igd_plus"] / other["igd_plus"])


def table(rows: Iterable[Row]) -> Table:
    """Busy shares are means, ratios medians over seeds."""
    shown = Table(title="slots for the slowest objective, in virtual time")
    first, *others = _columns()
    shown.add_column(first)
    for column in others:
        shown.add_column(column, justify="right")
    for cells in _body(rows):
        shown.add_row(*cells)
    return shown


def markdown(rows: Iterable[Row]) -> str:
    lines = [_columns(), ["---"] * len(_columns()), *_body(rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _columns() -> list[str]:
    columns = ["problem", "W", "seeds", "busy: overlap"]
    for barrier in BARRIERS:
        columns += [
            f"{barrier.name}: {figure}"
            for figure in ("busy", "time", "reached", "IGD+")
        ]
    return columns


def _body(rows: Iterable[Row]) -> list[list[str]]:
    """A line for each problem and number of slots."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["problem"], row["slots"]), []).append(row)
    lines = []
    for (name, slots), own in sorted(groups.items()):
        cells = [name, str(slots), str(len(own)), _busy(own, OVERLAP.name)]
        for barrier in BARRIERS:
            cells += _comparison(own, barrier.name)
        lines.append(cells)
    return lines


def _busy(rows: Sequence[Row], mode: str) -> str:
    return f"{fmean(row['modes'][mode]['busy_in_search'] for row in rows):.1%}"


def _comparison(rows: Sequence[Row], barrier: str) -> list[str]:
    times = [time_ratio(row, barrier) for row in rows]
    scores = [score_ratio(row, barrier) for row in rows]
    time = median(times)
    return [
        _busy(rows, barrier),
        "-" if time == inf else f"{time:.2f}",
        f"{sum(ratio < inf for ratio in times)}/{len(rows)}",
        f"{median(scores):.2f}",
    ]
