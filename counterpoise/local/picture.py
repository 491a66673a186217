"""A picture of a result: the front, and the hypervolume over time."""

from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from counterpoise.local.result import Result
from counterpoise.wire.views import SampleView

INITIAL, SEARCH = "initial", "search"


def draw_result(result: Result, file: Path) -> None:
    """The first objectives against the last, then the hypervolume."""
    names = [objective.name for objective in result.study.objectives]
    pairs = [(name, names[-1]) for name in names[:-1][:2]]
    figure = Figure(figsize=(5.2 * (len(pairs) + 1), 4.4), layout="constrained")
    axes = figure.subplots(1, len(pairs) + 1, squeeze=False)[0]
    for ax, (across, up) in zip(axes[:-1], pairs, strict=True):
        _draw_samples(ax, result, across, up)
    if pairs:
        axes[0].legend(loc="best", frameon=True)
    _draw_hypervolume(axes[-1], result)
    study = result.study
    figure.suptitle(
        f"{study.name}: {len(result.front)} of {study.evaluated_full} full samples"
        " are on the front"
    )
    figure.savefig(file, dpi=130)


def _draw_samples(ax: Any, result: Result, across: str, up: str) -> None:
    on_front = {item.sample for item in result.front}
    full = [sample for sample in result.samples if _has(sample, across, up)]
    infeasible = [sample for sample in full if sample.infeasible]
    kept = [sample for sample in full if not sample.infeasible]
    others = [sample for sample in kept if sample.sample not in on_front]
    initial = [sample for sample in others if sample.step == INITIAL]
    search = [sample for sample in others if sample.step != INITIAL]
    for samples, colour, label in ((initial, "0.8", INITIAL), (search, "C0", SEARCH)):
        points = _coordinates(samples, across, up)
        ax.scatter(*points, s=18, color=colour, label=label)
    if infeasible:
        points = _coordinates(infeasible, across, up)
        ax.scatter(*points, s=18, color="0.6", marker="x", label="infeasible")
    chosen = [sample for sample in full if sample.sample in on_front]
    points = _coordinates(chosen, across, up)
    ax.scatter(*points, s=46, color="C3", edgecolors="black", lw=0.5, label="front")
    ax.set(xlabel=label_of(result, across), ylabel=label_of(result, up))
    if _is_skewed([sample.values[up] for sample in full]):
        ax.set_yscale("log")
    ax.grid(alpha=0.3)


def _has(sample: SampleView, *names: str) -> bool:
    return sample.full and all(name in sample.values for name in names)


def _coordinates(
    samples: list[SampleView], across: str, up: str
) -> tuple[list[float], list[float]]:
    return (
        [sample.values[across] for sample in samples],
        [sample.values[up] for sample in samples],
    )


def _draw_hypervolume(ax: Any, result: Result) -> None:
    history = result.hypervolume_history
    ax.plot(
        [point.seconds for point in history],
        [point.value for point in history],
        marker="o",
        markersize=3,
    )
    ax.set(xlabel="seconds since the study began", ylabel="hypervolume")
    ax.grid(alpha=0.3)


def label_of(result: Result, name: str) -> str:
    units = {view.name: view.unit for view in result.study.objectives}
    return f"{name} [{units[name]}]" if units.get(name) else name


def _is_skewed(values: list[float]) -> bool:
    """Whether most values are near the lower end, as those of a deflection are."""
    if not values:
        return False
    lowest, highest = min(values), max(values)
    return lowest > 0.0 and median(values) - lowest < 0.25 * (highest - lowest)
