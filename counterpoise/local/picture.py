"""A picture of a result: the front, and the hypervolume over time."""

from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from counterpoise.local.result import Result
from counterpoise.wire.views import SampleView

INITIAL, SEARCH = "initial", "search"


def draw_result(result: Result, file: Path) -> None:
    figure_of(result).savefig(file, dpi=130)


def figure_of(result: Result) -> Figure:
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
    return figure


def _draw_samples(ax: Any, result: Result, across: str, up: str) -> None:
    """Filled: proposed by the search; hollow: of the initial design."""
    on_front = {item.sample for item in result.front}
    full = [sample for sample in result.samples if _has(sample, across, up)]
    infeasible = [sample for sample in full if sample.infeasible]
    kept = [sample for sample in full if not sample.infeasible]
    for is_front, colour, size in ((False, "C0", 18), (True, "C3", 46)):
        drawn = [s for s in kept if (s.sample in on_front) == is_front]
        prefix = "front, " if is_front else ""
        for phase in (INITIAL, SEARCH):
            samples = [s for s in drawn if (s.step == INITIAL) == (phase == INITIAL)]
            ax.scatter(
                *_coordinates(samples, across, up),
                s=size,
                facecolors=colour if phase == SEARCH else "white",
                edgecolors=colour,
                label=f"{prefix}{phase}" if samples else None,
            )
    if infeasible:
        points = _coordinates(infeasible, across, up)
        ax.scatter(*points, s=18, color="0.6", marker="x", label="infeasible")
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
    longest_s = max((point.seconds for point in history), default=0.0)
    unit, unit_s = time_unit(longest_s)
    times = [point.seconds / unit_s for point in history]
    ax.plot(times, [point.value for point in history], marker="o", markersize=3)
    ax.set(xlabel=f"{unit} since the study began", ylabel="hypervolume")
    ax.grid(alpha=0.3)


def time_unit(longest_s: float) -> tuple[str, float]:
    """Its name and length; the axis ends at a handful of them or more."""
    units = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0))
    for name, unit_s in units:
        if longest_s >= 3.0 * unit_s:
            return name, unit_s
    return "seconds", 1.0


def label_of(result: Result, name: str) -> str:
    """With goal and unit: `mass, min [kg]`."""
    view = {view.name: view for view in result.study.objectives}[name]
    label = f"{name}, {view.direction[:3]}"
    return f"{label} [{view.unit}]" if view.unit else label


def _is_skewed(values: list[float]) -> bool:
    """Whether most values are near the lower end, as those of a deflection are."""
    if not values:
        return False
    lowest, highest = min(values), max(values)
    return lowest > 0.0 and median(values) - lowest < 0.25 * (highest - lowest)
