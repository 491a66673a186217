"""Pictures of a campaign: the score along the runs, median and quartiles, one picture
per instance.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.campaign.rows import instance_of
from benchmarks.paper.results import Outcome, Spec

QUARTILES = (0.25, 0.5, 0.75)
TIMES = 200  # points of a curve in virtual time
HOUR = 3600.0


def draw(outcomes: Iterable[Outcome], folder: Path) -> list[Path]:
    """IGD+ against full samples, or hypervolume against virtual time. Instances without
    a recorded trace get no picture.
    """
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.trace or outcome.timeline:
            groups.setdefault(picture_name(outcome.spec), []).append(outcome)
    folder.mkdir(parents=True, exist_ok=True)
    return [_picture(name, groups[name], folder) for name in sorted(groups)]


def picture_name(spec: Spec) -> str:
    problem, m, _, ratios, slots = instance_of(spec)
    name = f"{problem}-m{m}-r{ratios.replace(',', '-')}"
    return f"{name}-w{slots.replace(' ', '-')}" if slots else name


def quartiles(
    traces: Sequence[Sequence[tuple[int, float]]],
) -> tuple[list[int], list[list[float]]]:
    """Numbers of full samples that all traces have, and the lower quartile, median and
    upper quartile of the scores at each.
    """
    by_count = [dict(trace) for trace in traces]
    counts = sorted(set.intersection(*(set(trace) for trace in by_count)))
    scores = np.array([[trace[count] for count in counts] for trace in by_count])
    return counts, np.quantile(scores, QUARTILES, axis=0).tolist()


def quartiles_in_time(
    timelines: Sequence[Sequence[tuple[float, float]]],
) -> tuple[list[float], list[list[float]]]:
    """Hours, and quartiles of what each run had reached by then; 0 before its first
    score.
    """
    last = max(timeline[-1][0] for timeline in timelines)
    times = np.linspace(0.0, last, TIMES)
    scores = []
    for timeline in timelines:
        told = np.array(timeline)  # (n, 2)
        reached = np.append(0.0, told[:, 1])
        scores.append(reached[np.searchsorted(told[:, 0], times, side="right")])
    hours: list[float] = (times / HOUR).tolist()
    return hours, np.quantile(scores, QUARTILES, axis=0).tolist()


def _picture(name: str, outcomes: list[Outcome], folder: Path) -> Path:
    # The same bytes for the same runs
    with mpl.rc_context({"svg.hashsalt": name}):
        figure = Figure(figsize=(5.0, 3.2), layout="constrained")
        axes = figure.subplots()
        _curves(axes, outcomes)
        axes.set(title=name)
        axes.legend(fontsize="small")
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
    return path


def _curves(axes: Axes, outcomes: list[Outcome]) -> None:
    by_column: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_column.setdefault(outcome.spec.column, []).append(outcome)
    in_time = bool(outcomes[0].timeline)
    for column, runs in sorted(by_column.items()):
        at: Sequence[float]
        if in_time:
            at, bands = quartiles_in_time([run.timeline for run in runs])
        else:
            at, bands = quartiles([run.trace for run in runs])
        low, middle, high = bands
        axes.plot(at, middle, label=column)
        axes.fill_between(at, low, high, alpha=0.2)
    if in_time:
        axes.set(xlabel="hours (virtual time)", ylabel="hypervolume")
    else:
        axes.set(xlabel="full samples", ylabel="IGD+", yscale="log")
