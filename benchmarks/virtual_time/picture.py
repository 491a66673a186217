"""IGD+ against virtual time, as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def plot_history(rows: Sequence[dict[str, Any]], file: Path) -> None:
    """The median over seeds of each mode."""
    # Imported here: only this needs it.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for mode in dict.fromkeys(row["mode"] for row in rows):
        histories = [row["history"] for row in rows if row["mode"] == mode]
        times = np.linspace(0.0, max(history[-1][0] for history in histories), 200)
        scores = [_at(times, history) for history in histories]
        axes.plot(times, np.nanmedian(scores, axis=0), label=mode)
    axes.set_yscale("log")
    axes.set_xlabel("virtual time")
    axes.set_ylabel("IGD+ (median)")
    axes.set_title(f"{rows[0]['problem']}, m = {rows[0]['m']}")
    axes.legend()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def _at(times: np.ndarray, history: Sequence[Sequence[float]]) -> np.ndarray:
    """The last score before each time; nan before the first."""
    points = np.array(history)  # (n, 2)
    indices = np.searchsorted(points[:, 0], times, side="right") - 1
    return np.where(indices >= 0, points[np.maximum(indices, 0), 1], np.nan)
