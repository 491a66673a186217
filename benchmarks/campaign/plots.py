"""IGD+ against the number of full samples: median and quartiles, one picture per
instance.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.campaign.rows import instance_of
from benchmarks.paper.results import Outcome


def draw(outcomes: Iterable[Outcome], folder: Path) -> list[Path]:
    """Instances without a recorded trace get no picture."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.trace:
            problem, m, _, ratios = instance_of(outcome.spec)
            name = f"{problem}-m{m}-r{ratios.strip('()').replace(',', '-')}"
            groups.setdefault(name, []).append(outcome)
    folder.mkdir(parents=True, exist_ok=True)
    return [_picture(name, groups[name], folder) for name in sorted(groups)]


def quartiles(
    traces: Sequence[Sequence[tuple[int, float]]],
) -> tuple[list[int], list[list[float]]]:
    """Numbers of full samples that all traces have, and the lower quartile, median and
    upper quartile of the scores at each.
    """
    by_count = [dict(trace) for trace in traces]
    counts = sorted(set.intersection(*(set(trace) for trace in by_count)))
    scores = np.array([[trace[count] for count in counts] for trace in by_count])
    return counts, np.quantile(scores, [0.25, 0.5, 0.75], axis=0).tolist()


def _picture(name: str, outcomes: list[Outcome], folder: Path) -> Path:
    by_strategy: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_strategy.setdefault(outcome.spec.strategy, []).append(outcome)
    # The same bytes for the same runs
    with mpl.rc_context({"svg.hashsalt": name}):
        figure = Figure(figsize=(5.0, 3.2), layout="constrained")
        axes = figure.subplots()
        for strategy, runs in sorted(by_strategy.items()):
            counts, (low, middle, high) = quartiles([run.trace for run in runs])
            axes.plot(counts, middle, label=strategy)
            axes.fill_between(counts, low, high, alpha=0.2)
        axes.set(xlabel="full samples", ylabel="IGD+", yscale="log", title=name)
        axes.legend(fontsize="small")
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
    return path
