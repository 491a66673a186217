"""What `bench service` prints."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

Row = dict[str, Any]


def tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    shown = []
    for measure, table in (("throughput", throughput), ("planning", planning)):
        measured = [row for row in rows if row["measure"] == measure]
        if measured:
            shown.append(table(measured))
    return tuple(shown)


def throughput(rows: Sequence[Row]) -> Table:
    durable = {row["subject"]: row["durability"] for row in rows}
    caption = (
        f"PostgreSQL: {durable['postgresql']}. SQLite: {durable['sqlite']}. Optuna: RDB storage on the same PostgreSQL,"
        " RandomSampler (only its storage is measured), 10 parameters; a trial is a whole sample of 3 objectives."
    )
    made = Table(
        title=f"Ask + tell, 8 processes, {rows[0]['ready_jobs']:,} more jobs ready",
        caption=caption,
    )
    made.add_column("")
    for name in (
        "jobs/s",
        "samples/s",
        "ask p50",
        "ask p99",
        "tell p50",
        "tell p99 ms",
        "jobs/s to trials/s",
        "target",
    ):
        made.add_column(name, justify="right")
    for row in rows:
        latencies = [
            f"{row[name]:.1f}"
            for name in ("ask_p50_ms", "ask_p99_ms", "tell_p50_ms", "tell_p99_ms")
        ]
        ours = row["target"] is not None
        made.add_row(
            f"{row['subject']}, {row['way']}",
            f"{row['jobs_per_s']:,.0f}" if ours else "-",
            f"{row['samples_per_s']:,.1f}",
            *latencies,
            f"{row['jobs_to_trials']:.1f}x" if ours else "1x",
            f">= {row['target']:.0f}x" if ours else "",
        )
    return made


def planning(rows: Sequence[Row]) -> Table:
    first = rows[0]
    size = f"m = 3, n from {first['full_samples']}"
    title = f"/ask at {first['asks_per_s']:.0f} a second while a planner fits models ({size})"
    made = Table(title=title)
    made.add_column("")
    for name in (
        "at rest p50",
        "p99",
        "planning p50",
        "p99 ms",
        "p99 to p99 at rest",
        "target",
        "steps planned",
    ):
        made.add_column(name, justify="right")
    for row in rows:
        names = (
            "idle_ask_p50_ms",
            "idle_ask_p99_ms",
            "planning_ask_p50_ms",
            "planning_ask_p99_ms",
        )
        latencies = [f"{row[name]:.1f}" for name in names]
        ratio = "-" if row["p99_ratio"] is None else f"{row['p99_ratio']:.2f}x"
        target = f"<= {row['target']:.0f}x"
        made.add_row(row["subject"], *latencies, ratio, target, str(row["steps"]))
    return made
