"""The time that planning ahead saves against waiting for the slowest objective."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SavedTime:
    """Means over seeds; in seeds that did not get as far, nothing is saved."""

    seeds: int
    reached: int  # seeds in which the final IGD+ of the other one was reached
    waiting: float  # its makespan
    saved: float


def saved_time(rows: Sequence[Row], mode: str, waiting_mode: str) -> SavedTime:
    """Until `mode` is as good as `waiting_mode` is at its end, seed by seed."""
    waiting = {row["seed"]: row for row in rows if row["mode"] == waiting_mode}
    saved = []
    for row in rows:
        if row["mode"] == mode:
            other = waiting[row["seed"]]
            reached_at = _reached(row, other["igd_plus"])
            saved.append(max(other["makespan"] - reached_at, 0.0))
    return SavedTime(
        seeds=len(saved),
        reached=sum(time > 0.0 for time in saved),
        waiting=fmean(row["makespan"] for row in waiting.values()),
        saved=fmean(saved),
    )


def _reached(row: Row, igd_plus: float | None) -> float:
    if igd_plus is None:  # no sample was complete: nothing to compare with
        return float("inf")
    times = (time for time, score in row["history"] if score <= igd_plus)
    return next(times, float("inf"))


def describe(found: SavedTime, mode: str, waiting_mode: str) -> str:
    share = found.saved / found.waiting
    return (
        f"{mode} saves {found.saved:.0f} of {found.waiting:.0f} ({share:.0%}) until it"
        f" is as good as {waiting_mode!r} is at its end: mean of {found.seeds} seeds,"
        f" sooner in {found.reached}"
    )
