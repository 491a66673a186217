"""A picture of the front."""

from pathlib import Path
from statistics import median

from matplotlib.figure import Figure

from workers.demo.findings import Findings


def draw(found: Findings, file: Path) -> None:
    """Each objective but the slowest against the slowest, coloured by another one; what is dominated in grey."""
    names = found.problem.objectives
    slow = names[-1]
    panels = [
        (name, names[1 - k] if len(names) > 2 else None) for k, name in enumerate(names[: min(2, len(names) - 1)])
    ]
    figure = Figure(figsize=(6.2 * len(panels), 4.8), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)
    on_front = {item.sample for item in found.front}
    rest = [sample for sample in found.samples if sample.sample not in on_front]
    for ax, (across, colour) in zip(axes[0], panels, strict=True):
        ax.scatter(
            [sample.values[across] for sample in rest],
            [sample.values[slow] for sample in rest],
            s=18,
            color="0.8",
            label="dominated",
        )
        dots = ax.scatter(
            [item.values[across] for item in found.front],
            [item.values[slow] for item in found.front],
            c=[item.values[colour] for item in found.front] if colour else "C0",
            s=46,
            edgecolors="black",
            linewidths=0.5,
            label="front",
        )
        if colour:
            figure.colorbar(dots, ax=ax, label=_label(found, colour))
        ax.set(xlabel=_label(found, across), ylabel=_label(found, slow))
        if _skewed(found, slow):
            ax.set_yscale("log")
        ax.grid(alpha=0.3)
    axes[0][0].legend(loc="best", frameon=True)
    figure.suptitle(f"{found.study.name}: {len(found.front)} of {len(found.samples)} samples are on the front")
    figure.savefig(file, dpi=130)


def _label(found: Findings, name: str) -> str:
    unit = found.problem.units.get(name)
    return f"{name} [{unit}]" if unit else name


def _skewed(found: Findings, name: str) -> bool:
    """Most samples crowd at the lower end, as those of a deflection do."""
    values = [sample.values[name] for sample in found.samples]
    return min(values) > 0.0 and median(values) - min(values) < 0.25 * (max(values) - min(values))
