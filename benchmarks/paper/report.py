"""Our results beside the paper's: rows for a table and for JSON."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import fmean, median, stdev
from typing import Any

from rich.table import Table

from benchmarks.paper.results import GroupKey, Outcome, Settings, group
from benchmarks.paper.tables import Entry, published

PEERS = ("K-RVEA", "HK-RVEA", "SBP-BO")


@dataclass(frozen=True, slots=True)
class Row:
    problem: str
    m: int
    rc: int
    strategy: str
    settings: Settings
    budget: int
    igd_plus: tuple[float, ...]  # one per seed
    seeds: tuple[int, ...]
    cpu_s: float  # mean
    step_s: float  # median of the runs' medians, each without its first step
    longest_step_s: float | None  # of all runs that recorded it, first steps apart

    @property
    def mean(self) -> float:
        return fmean(self.igd_plus)

    @property
    def std(self) -> float:
        return stdev(self.igd_plus) if len(self.igd_plus) > 1 else 0.0

    def peer(self, algorithm: str) -> Entry | None:
        return published(self.rc).get((self.problem, self.m, self.rc, algorithm))

    @property
    def within(self) -> bool | None:
        """At or below the paper's SBP-BO mean + 1 std; None where the paper has no
        entry.
        """
        entry = self.peer("SBP-BO")
        return None if entry is None else self.mean <= entry.mean + entry.std

    @property
    def winner(self) -> str:
        """The lowest mean."""
        means = {peer: entry.mean for peer in PEERS if (entry := self.peer(peer))}
        return min({"ours": self.mean, **means}.items(), key=lambda item: item[1])[0]


def rows(outcomes: Iterable[Outcome]) -> list[Row]:
    return [_row(key, runs) for key, runs in group(outcomes).items()]


def _row(key: GroupKey, runs: list[Outcome]) -> Row:
    longest = [run.longest_step_s for run in runs if run.longest_step_s is not None]
    return Row(
        *key,
        igd_plus=tuple(run.igd_plus for run in runs),
        seeds=tuple(run.spec.seed for run in runs),
        cpu_s=fmean(run.cpu_s for run in runs),
        step_s=median(run.step_s for run in runs),
        longest_step_s=max(longest, default=None),
    )


def as_json(row: Row) -> dict[str, Any]:
    return {
        "problem": row.problem,
        "m": row.m,
        "rc": row.rc,
        "strategy": row.strategy,
        "igd_plus": list(row.igd_plus),
        "mean": row.mean,
        "std": row.std,
        "seeds": list(row.seeds),
        "settings": asdict(row.settings),
        "budget": row.budget,
        "cpu_s": round(row.cpu_s, 3),
        "step_s": row.step_s,
        "longest_step_s": row.longest_step_s,
        "paper": {peer: asdict(entry) for peer in PEERS if (entry := row.peer(peer))},
        "winner": row.winner,
        "within_sbp_bo": row.within,
    }


def table(lines: list[Row]) -> Table:
    shown = Table(
        title="IGD+ of the nondominated subset of all full samples: mean (standard deviation, runs)"
    )
    shown.caption = (
        "CPU s: of a run, mean; step: after the first, median;"
        " max: the longest of these, where it was recorded"
    )
    for name in (
        "problem",
        "m",
        "ours",
        "",
        *PEERS,
        "lowest mean",
        "CPU s",
        "step",
        "max",
    ):
        shown.add_column(
            name, justify="left" if name in ("problem", "lowest mean", "") else "right"
        )
    for row in lines:
        mark = {True: "✓", False: "✗", None: ""}[row.within]
        peers = [
            _cell(entry.mean, entry.std) if (entry := row.peer(peer)) else ""
            for peer in PEERS
        ]
        ours = f"{row.mean:.3g} ({row.std:.2g}, {len(row.igd_plus)})"
        longest = "" if row.longest_step_s is None else f"{row.longest_step_s:.2f}"
        times = (f"{row.cpu_s:.1f}", f"{row.step_s:.2f}", longest)
        shown.add_row(row.problem, str(row.m), ours, mark, *peers, row.winner, *times)
    return shown


def _cell(mean: float, std: float) -> str:
    return f"{mean:.3g} ({std:.2g})"


def summary(lines: list[Row]) -> str:
    known = [row for row in lines if row.within is not None]
    within = sum(bool(row.within) for row in known)
    wins = sum(row.winner == "ours" for row in known)
    return f"at or below SBP-BO mean + 1 std: {within} of {len(known)}; lowest mean of all four: {wins} of {len(known)}"
