"""Reference sets for IGD+: about 10,000 points on each true front, spread as the
authors' programs spread them.

W (N, m) simplex lattice · R (N, m) reference set
"""

from collections.abc import Callable
from functools import partial
from math import ceil
from pathlib import Path

import moocore
import numpy as np
from numpy.typing import NDArray

from app.optimizer.search.reference_vectors import layers, simplex_lattice
from benchmarks.problems.curves import CURVES
from benchmarks.problems.dtlz import linear
from benchmarks.problems.engineering import ENGINEERING
from benchmarks.problems.wfg import convex_but_last, disconnected, mixed

Array = NDArray[np.float64]
POINTS = 10_000
# Fronts that no formula gives, as `python -m benchmarks.constrained.engineering_fronts`
# writes them
STORED = Path(__file__).parent / "engineering_fronts"


def lattice(m: int) -> Array:
    """The largest simplex lattice with at most POINTS points; zeros are lifted:
    directions are divided by.
    """
    W = simplex_lattice(m, layers(m, POINTS))
    return np.maximum(W, 1e-6)


def _sphere(m: int) -> Array:
    W = lattice(m)
    return np.asarray(W / np.linalg.norm(W, axis=1, keepdims=True))


def _circle(m: int) -> Array:
    """DTLZ5 and DTLZ6: a quarter circle in the last two directions, the others
    following the first.
    """
    s = np.linspace(0.0, 1.0, POINTS)
    arc = np.column_stack([s, 1.0 - s]) / np.hypot(s, 1.0 - s)[:, None]
    R = np.hstack([np.repeat(arc[:, :1], m - 2, axis=1), arc])
    return R / 2.0 ** (np.array([m - 2, *range(m - 2, -1, -1)]) / 2)


def _dtlz7(m: int) -> Array:
    """A grid in the first m - 1 objectives, squeezed into the two intervals where the
    front lives.
    """
    per_axis = ceil(POINTS ** (1 / (m - 1)) - 1e-9)
    axis = np.linspace(0.0, 1.0, per_axis)
    a, b, c = 0.251412, 0.631627, 0.859401
    share = a / (a + c - b)
    axis = np.where(
        axis <= share, axis * a / share, b + (axis - share) * (c - b) / (1 - share)
    )
    X = np.stack(np.meshgrid(*[axis] * (m - 1), indexing="ij"), axis=-1).reshape(
        -1, m - 1
    )
    return np.column_stack(
        [X, 2 * (m - np.sum(X / 2 * (1 + np.sin(3 * np.pi * X)), axis=1))]
    )


def _along(W: Array, last: Callable[[Array], Array]) -> Array:
    """The points of WFG1's or WFG2's front in the directions W: x_2 … x_{m-1} in closed
    form, x_1 on a fine grid.
    """
    N, m = W.shape
    c = np.ones((N, m))
    for j in range(1, m):
        t = W[:, j] / W[:, 0] * np.prod(1.0 - c[:, m - j : m - 1], axis=1)
        c[:, m - 1 - j] = (t**2 - t + np.sqrt(2.0 * t)) / (t**2 + 1.0)
    x = np.arccos(np.clip(c, -1.0, 1.0)) * 2 / np.pi  # (N, m); the last column is 0
    ratio = (1.0 - np.sin(np.pi / 2 * x[:, 1])) * W[:, -1] / W[:, -2]
    grid = np.linspace(0.0, 1.0, 10_001)
    rise, fall = 1.0 - np.cos(np.pi / 2 * grid), last(grid)
    for rows in np.array_split(
        np.arange(N), ceil(N / 500)
    ):  # in blocks: N x 10,001 would be 800 MB
        miss = np.abs(ratio[rows, None] * rise - fall)
        x[rows, 0] = grid[np.argpartition(miss, 10, axis=1)[:, :10].min(axis=1)]
    return convex_but_last(x[:, : m - 1], last)


def _wfg2(m: int) -> Array:
    R = _along(lattice(m), disconnected)
    return np.asarray(R[moocore.is_nondominated(R, keep_weakly=True)])


def _wfg3(m: int) -> Array:
    x = np.full((POINTS, m - 1), 0.5)
    x[:, 0] = np.linspace(0.0, 1.0, POINTS)
    return linear(x)


def _scaled(front: Callable[[int], Array]) -> Callable[[int], Array]:
    return lambda m: 2.0 * np.arange(1, m + 1) * front(m)


def stored(name: str, _m: int) -> Array:
    return np.loadtxt(STORED / f"{name}.csv", delimiter=",", ndmin=2)


FRONTS: dict[str, Callable[[int], Array]] = {
    **dict.fromkeys(("dtlz1", "dtlz1a"), lambda m: lattice(m) / 2),
    **dict.fromkeys(("dtlz2", "dtlz3", "dtlz3a", "dtlz4"), _sphere),
    **dict.fromkeys(("dtlz5", "dtlz6"), _circle),
    "dtlz7": _dtlz7,
    "wfg1": _scaled(lambda m: _along(lattice(m), mixed)),
    "wfg2": _scaled(_wfg2),
    "wfg3": _scaled(_wfg3),
    **{f"wfg{i}": _scaled(_sphere) for i in range(4, 10)},
    **CURVES,
    **{name: partial(stored, name) for name in ENGINEERING},
}
