"""A plot of the front."""

from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from workers.demo.result import DemoResult

Panel = tuple[str, str | None]  # objectives of the horizontal axis and of the colour


def draw_front(result: DemoResult, file: Path) -> None:
    """Each of two objectives against the slowest, coloured by the other one; dominated
    samples in grey.
    """
    panels = _panels(result.problem.objectives)
    figure = Figure(figsize=(6.2 * len(panels), 4.8), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        _draw_panel(figure, ax, result, panel)
    axes[0].legend(loc="best", frameon=True)
    figure.suptitle(
        f"{result.study.name}: {len(result.front)} of {len(result.samples)} samples are on the front"
    )
    figure.savefig(file, dpi=130)


def _panels(objectives: list[str]) -> list[Panel]:
    if len(objectives) == 2:
        return [(objectives[0], None)]
    first, second = objectives[:2]
    return [(first, second), (second, first)]


def _draw_panel(figure: Figure, ax: Any, result: DemoResult, panel: Panel) -> None:
    across, colour = panel
    slow = result.problem.objectives[-1]
    on_front = {item.sample for item in result.front}
    dominated = [sample for sample in result.samples if sample.sample not in on_front]
    ax.scatter(
        [sample.values[across] for sample in dominated],
        [sample.values[slow] for sample in dominated],
        s=18,
        color="0.8",
        label="dominated",
    )
    points = ax.scatter(
        [item.values[across] for item in result.front],
        [item.values[slow] for item in result.front],
        c=[item.values[colour] for item in result.front] if colour else "C0",
        s=46,
        edgecolors="black",
        linewidths=0.5,
        label="front",
    )
    if colour:
        figure.colorbar(points, ax=ax, label=_label(result, colour))
    ax.set(xlabel=_label(result, across), ylabel=_label(result, slow))
    if _is_skewed(result, slow):
        ax.set_yscale("log")
    ax.grid(alpha=0.3)


def _label(result: DemoResult, name: str) -> str:
    unit = result.problem.units.get(name)
    return f"{name} [{unit}]" if unit else name


def _is_skewed(result: DemoResult, name: str) -> bool:
    """Whether most values are near the lower end, as those of a deflection are."""
    values = [sample.values[name] for sample in result.samples]
    lowest, highest = min(values), max(values)
    return lowest > 0.0 and median(values) - lowest < 0.25 * (highest - lowest)
