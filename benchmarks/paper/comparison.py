"""The same study twice in virtual time: asynchronously, and with everybody waiting for
the slowest objective.
"""

from collections.abc import Callable
from dataclasses import asdict
from math import isnan
from typing import Any

from rich.table import Table
from threadpoolctl import threadpool_limits

from app.simulation.pools import Pool
from app.simulation.study import Report
from benchmarks.paper.protocol import choose
from benchmarks.paper.results import Settings
from benchmarks.problems.catalogue import Instance
from benchmarks.simulation import ratios, reached, simulate

MODES = {"asynchronous": False, "everybody waits": True}


def compare(
    instance: Instance,
    pools: tuple[Pool, ...],
    settings: Settings,
    seed: int,
    *,
    n: int | None = None,
    budget: int = 300,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, Report]:
    strategy, reports = choose("sbp-bo", settings), {}
    with threadpool_limits(limits=1):
        for mode, wait in MODES.items():
            reports[mode] = simulate(
                instance, pools, strategy, seed, wait=wait, n=n, budget=budget
            )
            advance()
    return reports


def as_json(
    instance: Instance, pools: tuple[Pool, ...], seed: int, reports: dict[str, Report]
) -> list[dict[str, Any]]:
    """One object per mode; a pool's idle share is what its busy share leaves."""
    return [
        {
            "problem": instance.name,
            "m": instance.m,
            "seed": seed,
            "mode": mode,
            "makespan": report.makespan,
            "igd_plus": None if isnan(report.score) else report.score,
            "steps": report.steps,
            "failed_jobs": report.failed,
            "pools": [
                asdict(pool)
                | {
                    "ratio": 1.0 if MODES[mode] else ratio,
                    "busy": busy,
                    "idle": 1.0 - busy,
                    "evaluations": count,
                }
                for pool, ratio, busy, count in zip(
                    pools, ratios(pools), report.busy, report.evaluations, strict=True
                )
            ],
            "reached_waiting_igd_plus_at": reached(
                report, reports["everybody waits"].score
            ),
        }
        for mode, report in reports.items()
    ]


def table(rows: list[dict[str, Any]]) -> Table:
    first = rows[0]
    shown = Table(
        title=f"{first['problem']}, m = {first['m']}, seed {first['seed']}: virtual time"
    )
    for column in (
        "mode",
        "objective",
        "latency",
        "workers",
        "r",
        "evaluations",
        "busy",
        "idle",
    ):
        shown.add_column(column, justify="left" if column == "mode" else "right")
    for row in rows:
        for i, pool in enumerate(row["pools"]):
            shown.add_row(
                row["mode"] if i == 0 else "",
                f"f{i + 1}",
                f"{pool['latency']:g}",
                str(pool["workers"]),
                f"{pool['ratio']:g}",
                str(pool["evaluations"]),
                f"{pool['busy']:.0%}",
                f"{pool['idle']:.0%}",
                end_section=i == len(row["pools"]) - 1,
            )
    return shown


def summary(rows: list[dict[str, Any]]) -> str:
    asynchronous, waiting = rows
    lines = [
        f"{row['mode']}: makespan {row['makespan']:.1f}, {_score(row['igd_plus'])}"
        for row in rows
    ]
    reached = asynchronous["reached_waiting_igd_plus_at"]
    if waiting["igd_plus"] is None:
        return "\n".join(lines)
    if reached is None:
        lines.append("the asynchronous study did not reach the IGD+ of the waiting one")
    else:
        share = reached / waiting["makespan"]
        lines.append(
            f"the asynchronous study had that IGD+ after {reached:.1f}: {share:.0%} of the other's time"
        )
    return "\n".join(lines)


def _score(igd_plus: float | None) -> str:
    return "no sample is complete" if igd_plus is None else f"IGD+ {igd_plus:.4g}"
