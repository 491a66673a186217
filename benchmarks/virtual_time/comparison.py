"""The same study in virtual time, planned in several ways."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import isnan
from statistics import fmean, median
from typing import Any

from rich.table import Table
from threadpoolctl import threadpool_limits

from app.optimizer.strategies.strategy import Strategy
from app.simulation.pools import Pool
from app.simulation.study import Report
from benchmarks.problems.catalogue import Instance
from benchmarks.virtual_time.simulation import Mode, ratios, reached, simulate

BARRIER = Mode("barrier")
WAITING = Mode("everybody waits", wait=True)
# Of the barrier's makespan: when IGD+ is shown
TIMES = (0.2, 0.4, 0.6, 0.8, 1.0)
History = Sequence[Sequence[float]]  # pairs of time and IGD+
Row = dict[str, Any]


def compare(
    instance: Instance,
    pools: tuple[Pool, ...],
    strategy: Strategy,
    seeds: Sequence[int],
    modes: Sequence[Mode],
    *,
    n: int | None = None,
    budget: int = 300,
    planning_s: float | None = 0.0,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """One row per seed and mode; times are compared with those of the barrier."""
    rows = []
    with threadpool_limits(limits=1):
        for seed in seeds:
            reports: dict[str, Report] = {}
            for mode in modes:
                reports[mode.name] = simulate(
                    instance,
                    pools,
                    strategy,
                    seed,
                    mode,
                    n=n,
                    budget=budget,
                    planning_s=planning_s,
                )
                advance()
            rows += [_row(instance, pools, seed, mode, reports) for mode in modes]
    return rows


def _row(
    instance: Instance,
    pools: tuple[Pool, ...],
    seed: int,
    mode: Mode,
    reports: dict[str, Report],
) -> Row:
    report, barrier = reports[mode.name], reports[BARRIER.name]
    shares = []
    for j, (pool, ratio) in enumerate(zip(pools, ratios(pools), strict=True)):
        figures = {
            "ratio": 1.0 if mode.wait else ratio,
            "busy": report.busy[j],
            "busy_in_search": report.busy_in_search[j],
            "evaluations": report.evaluations[j],
        }
        shares.append(asdict(pool) | figures)
    return {
        "problem": instance.name,
        "m": instance.m,
        "seed": seed,
        "mode": mode.name,
        "overlap": mode.overlap,
        "batch_size": mode.batch,
        "makespan": report.makespan,
        "igd_plus": None if isnan(report.score) else report.score,
        "steps": report.steps,
        "failed_jobs": report.failed,
        "pools": shares,
        "reached_barrier_igd_plus_at": reached(report.history, barrier.score),
        "barrier_at": reached(barrier.history, barrier.score),
        "history": [list(point) for point in report.history],
    }


def table(rows: Sequence[Row]) -> Table:
    """Means over seeds."""
    first = rows[0]
    seeds = sorted({row["seed"] for row in rows})
    title = f"{first['problem']}, m = {first['m']}, {len(seeds)} seed(s): virtual time"
    shown = Table(title=title)
    columns = ("mode", "objective", "latency", "slots", "r", "evaluations", "busy")
    for column in (*columns, "busy in search"):
        shown.add_column(column, justify="left" if column == "mode" else "right")
    for mode in _modes(rows):
        own = [row for row in rows if row["mode"] == mode]
        for j, pool in enumerate(own[0]["pools"]):
            shown.add_row(
                mode if j == 0 else "",
                f"f{j + 1}",
                f"{pool['latency']:g}",
                str(pool["workers"]),
                f"{pool['ratio']:g}",
                f"{_mean(own, j, 'evaluations'):.0f}",
                f"{_mean(own, j, 'busy'):.0%}",
                f"{_mean(own, j, 'busy_in_search'):.0%}",
                end_section=j == len(own[0]["pools"]) - 1,
            )
    return shown


def progress_table(rows: Sequence[Row]) -> Table:
    """IGD+ against virtual time, medians over seeds."""
    end = max(row["makespan"] for row in rows if row["mode"] == BARRIER.name)
    times = [end * share for share in TIMES]
    shown = Table(title="IGD+ at virtual time (100 %: the end of the barrier)")
    shown.add_column("mode")
    for share, time in zip(TIMES, times, strict=True):
        shown.add_column(f"{time:.3g} ({share:.0%})", justify="right")
    for mode in _modes(rows):
        histories = [row["history"] for row in rows if row["mode"] == mode]
        shown.add_row(mode, *[_score_at(histories, time) for time in times])
    return shown


def _score_at(histories: Sequence[History], time: float) -> str:
    """A dash before search has begun."""
    scores = [_last_score(history, time) for history in histories]
    known = [score for score in scores if score is not None]
    return f"{median(known):.4g}" if len(known) == len(scores) else "-"


def _last_score(history: History, time: float) -> float | None:
    scores = [score for at, score in history if at <= time]
    return scores[-1] if scores else None


def _modes(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["mode"] for row in rows))


def _mean(rows: Sequence[Row], j: int, figure: str) -> float:
    return fmean(row["pools"][j][figure] for row in rows)


def summary(rows: Sequence[Row]) -> str:
    """A line for each mode: medians over seeds."""
    lines = []
    for mode in _modes(rows):
        own = [row for row in rows if row["mode"] == mode]
        makespan = median(row["makespan"] for row in own)
        lines.append(f"{mode}: makespan {makespan:.1f}, {_score(own)}, {_time(own)}")
    return "\n".join(lines)


def _score(rows: Sequence[Row]) -> str:
    scores = [row["igd_plus"] for row in rows if row["igd_plus"] is not None]
    return f"IGD+ {median(scores):.4g}" if scores else "no sample is complete"


def _time(rows: Sequence[Row]) -> str:
    """When the barrier's final IGD+ was reached, as a share of the time that the
    barrier took for it.
    """
    shares = [
        row["reached_barrier_igd_plus_at"] / row["barrier_at"]
        for row in rows
        if row["reached_barrier_igd_plus_at"] is not None
    ]
    if not shares:
        return "the barrier's IGD+ was not reached"
    reached_by = f"{len(shares)} of {len(rows)}"
    return f"the barrier's IGD+ after {median(shares):.0%} of its time ({reached_by})"
