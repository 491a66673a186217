"""WFG1-9 on the unit cube, vectorised over points (Huband et al. 2006, as [SBP-BO] uses
them: K = m - 1).

Y (n, d) points, each in [0, 1] (the original z_i = 2 i y_i) · k = m - 1 · t (n, m)
reduced · x (n, m) shape parameters With K = m - 1 every position variable is its own
group, so reductions only act on the distance variables Y[:, k:].
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems.dtlz import linear, products, sphere

Array = NDArray[np.float64]
DEPENDENT = 0.98 / 49.98


def _unit(y: Array) -> Array:
    return np.clip(y, 0.0, 1.0)  # only rounding leaves [0, 1]


# Transformations


def s_linear(y: Array, A: float = 0.35) -> Array:
    return _unit(np.abs(y - A) / np.abs(np.floor(A - y) + A))


def s_deceptive(y: Array, A: float = 0.35, B: float = 0.001, C: float = 0.05) -> Array:
    left = np.floor(y - A + B) * (1.0 - C + (A - B) / B) / (A - B)
    right = np.floor(A + B - y) * (1.0 - C + (1.0 - A - B) / B) / (1.0 - A - B)
    return _unit(1.0 + (np.abs(y - A) - B) * (left + right + 1.0 / B))


def s_multimodal(y: Array, A: float, B: float, C: float = 0.35) -> Array:
    u = np.abs(y - C) / (2.0 * (np.floor(C - y) + C))
    return _unit(
        (1.0 + np.cos((4.0 * A + 2.0) * np.pi * (0.5 - u)) + 4.0 * B * u**2) / (B + 2.0)
    )


def b_flat(y: Array, A: float = 0.8, B: float = 0.75, C: float = 0.85) -> Array:
    low = np.minimum(0.0, np.floor(y - B)) * (A * (B - y) / B)
    high = np.minimum(0.0, np.floor(C - y)) * ((1.0 - A) * (y - C) / (1.0 - C))
    return _unit(A + low - high)


def b_dependent(y: Array, u: Array) -> Array:
    exponent = DEPENDENT - (1.0 - 2.0 * u) * np.abs(np.floor(0.5 - u) + DEPENDENT)
    return _unit(y ** (0.02 + 49.98 * exponent))


def _distance(Y: Array, k: int, change: Callable[[Array], Array]) -> Array:
    return np.hstack([Y[:, :k], change(Y[:, k:])])


# Reductions


def r_mean(Y: Array, k: int) -> Array:
    return np.column_stack([Y[:, :k], Y[:, k:].mean(axis=1)])


def r_nonseparable(y: Array) -> Array:
    """All columns of y as one group: (n, A) -> (n,)."""
    A = y.shape[1]
    half = np.ceil(A / 2.0)
    total = y.sum(axis=1) + sum(
        np.abs(y - np.roll(y, -s, axis=1)).sum(axis=1) for s in range(1, A)
    )
    return _unit(total / (half * (1.0 + 2.0 * A - 2.0 * half)))


def _pairs(Y: Array, k: int) -> Array:
    """WFG2 and WFG3: neighbouring distance variables reduced in pairs, then averaged; d
    - k must be even.
    """
    reduced = [r_nonseparable(Y[:, i : i + 2]) for i in range(k, Y.shape[1], 2)]
    return np.column_stack([Y[:, :k], np.mean(reduced, axis=0)])


# Shapes of the parameters x (n, m - 1), each (n, m)


def concave(x: Array) -> Array:
    return sphere(1.0 - x)


def convex(x: Array) -> Array:
    return products(1.0 - np.cos(x * np.pi / 2), 1.0 - np.sin(x * np.pi / 2))


def mixed(x1: Array) -> Array:
    return 1.0 - x1 - np.cos(10 * np.pi * x1 + np.pi / 2) / (10 * np.pi)


def disconnected(x1: Array) -> Array:
    return np.asarray(1.0 - x1 * np.cos(5 * np.pi * x1) ** 2)


def convex_but_last(x: Array, last: Callable[[Array], Array]) -> Array:
    """The fronts of WFG1 (mixed) and WFG2 (disconnected)."""
    return np.column_stack([convex(x)[:, :-1], last(x[:, 0])])


def _objectives(t: Array, shape: Callable[[Array], Array]) -> Array:
    m = t.shape[1]
    return t[:, -1:] + 2.0 * np.arange(1, m + 1) * shape(t[:, :-1])


# Problems


def wfg1(Y: Array, m: int) -> Array:
    k = m - 1
    t = _distance(Y, k, lambda y: b_flat(s_linear(y))) ** 0.02
    weights = 2.0 * np.arange(k + 1, Y.shape[1] + 1)
    t = np.column_stack([t[:, :k], _unit(t[:, k:] @ weights / weights.sum())])
    return _objectives(t, lambda x: convex_but_last(x, mixed))


def wfg2(Y: Array, m: int) -> Array:
    t = _pairs(_distance(Y, m - 1, s_linear), m - 1)
    return _objectives(t, lambda x: convex_but_last(x, disconnected))


def wfg3(Y: Array, m: int) -> Array:
    t = _pairs(_distance(Y, m - 1, s_linear), m - 1)
    t[:, 1:-1] = t[:, -1:] * (t[:, 1:-1] - 0.5) + 0.5  # degenerate: A = (1, 0, …, 0)
    return _objectives(t, linear)


def wfg4(Y: Array, m: int) -> Array:
    return _objectives(r_mean(s_multimodal(Y, 30.0, 10.0), m - 1), concave)


def wfg5(Y: Array, m: int) -> Array:
    return _objectives(r_mean(s_deceptive(Y), m - 1), concave)


def wfg6(Y: Array, m: int) -> Array:
    k = m - 1
    t = _distance(Y, k, s_linear)
    return _objectives(np.column_stack([t[:, :k], r_nonseparable(t[:, k:])]), concave)


def _means_after(Y: Array) -> Array:
    """Mean of all later variables, for each but the last: (n, d) -> (n, d - 1)."""
    sums = np.cumsum(Y[:, :0:-1], axis=1)
    return np.asarray((sums / np.arange(1, Y.shape[1]))[:, ::-1])


def wfg7(Y: Array, m: int) -> Array:
    k = m - 1
    t = np.hstack([b_dependent(Y[:, :k], _means_after(Y)[:, :k]), Y[:, k:]])
    return _objectives(r_mean(_distance(t, k, s_linear), k), concave)


def wfg8(Y: Array, m: int) -> Array:
    k, d = m - 1, Y.shape[1]
    means_before = (np.cumsum(Y, axis=1) / np.arange(1, d + 1))[:, k - 1 : d - 1]
    t = np.hstack([Y[:, :k], b_dependent(Y[:, k:], means_before)])
    return _objectives(r_mean(_distance(t, k, s_linear), k), concave)


def wfg9(Y: Array, m: int) -> Array:
    k = m - 1
    t = np.hstack([b_dependent(Y[:, :-1], _means_after(Y)), Y[:, -1:]])
    t = np.hstack([s_deceptive(t[:, :k]), s_multimodal(t[:, k:], 30.0, 95.0)])
    return _objectives(np.column_stack([t[:, :k], r_nonseparable(t[:, k:])]), concave)


WFG: dict[str, Callable[[Array, int], Array]] = {
    "wfg1": wfg1, "wfg2": wfg2, "wfg3": wfg3, "wfg4": wfg4, "wfg5": wfg5,
    "wfg6": wfg6, "wfg7": wfg7, "wfg8": wfg8, "wfg9": wfg9,
}  # fmt: skip
