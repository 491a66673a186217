"""The same study in virtual time, planned in several ways."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import isnan
from statistics import fmean, median
from typing import Any

from rich.table import Table
from threadpoolctl import threadpool_limits

from app.simulation.pools import Pool
from app.simulation.study import Report
from benchmarks.paper.protocol import choose
from benchmarks.paper.results import Settings
from benchmarks.problems.catalogue import Instance
from benchmarks.virtual_time.simulation import Mode, ratios, reached, simulate

BARRIER = Mode("barrier")
WAITING = Mode("everybody waits", wait=True)
Row = dict[str, Any]


def compare(
    instance: Instance,
    pools: tuple[Pool, ...],
    settings: Settings,
    seeds: Sequence[int],
    modes: Sequence[Mode],
    *,
    n: int | None = None,
    budget: int = 300,
    planning_s: float | None = 0.0,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """One row per seed and mode; times are compared with those of the barrier."""
    strategy = choose("sbp-bo", settings)
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
        "barrier_makespan": barrier.makespan,
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
    """When the barrier's final IGD+ was reached, as a share of the barrier's time."""
    shares = [
        row["reached_barrier_igd_plus_at"] / row["barrier_makespan"]
        for row in rows
        if row["reached_barrier_igd_plus_at"] is not None
    ]
    if not shares:
        return "the barrier's IGD+ was not reached"
    reached_by = f"{len(shares)} of {len(rows)}"
    return f"the barrier's IGD+ after {median(shares):.0%} of its time ({reached_by})"
