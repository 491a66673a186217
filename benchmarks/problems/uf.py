"""UF1-7 of CEC 2009 (Zhang et al. 2009) on the unit cube, two objectives, vectorised
over points.

x_1 is in [0, 1]; the others are in [-1, 1], except UF3 with [0, 1] and UF4 with
[-2, 2], as the report defines them. Some programs of the T-SAEA family use [0, 1] for
all variables; that is another problem.

x (n,) first variable · Z (n, d - 1) the others · j = 2 … d · y (n, d - 1) distance of
each from the front
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Evaluate = Callable[[Array, int], Array]


def _stretch(X: Array, low: float, high: float) -> tuple[Array, Array, Array]:
    """x, Z in their own ranges, and the numbers j of Z."""
    Z = low + (high - low) * X[:, 1:]
    return X[:, 0], Z, np.arange(2.0, X.shape[1] + 1)


def _odd_and_even(
    terms: Array, j: Array, total: Callable[[Array, Array], Array]
) -> Array:
    """Distance of each objective, (n, 2): the first has the odd j, the second the even."""
    columns = []
    for remainder in (1, 0):
        own = j % 2 == remainder
        columns.append(2.0 / own.sum() * total(terms[:, own], j[own]))
    return np.column_stack(columns)


def _sum(terms: Array, _j: Array) -> Array:
    return np.asarray(terms.sum(axis=1))


def _rugged(y: Array, j: Array) -> Array:
    waves = np.prod(np.cos(20.0 * np.pi * y / np.sqrt(j)), axis=1)
    return np.asarray(4.0 * np.sum(y**2, axis=1) - 2.0 * waves + 2.0)


def _sine(x: Array, Z: Array, j: Array) -> Array:
    phase = 6.0 * np.pi * x[:, None] + j * np.pi / (Z.shape[1] + 1)
    return np.asarray(Z - np.sin(phase))


def uf1(X: Array, _m: int = 2) -> Array:
    x, Z, j = _stretch(X, -1.0, 1.0)
    front = np.column_stack([x, 1.0 - np.sqrt(x)])
    return front + _odd_and_even(_sine(x, Z, j) ** 2, j, _sum)


def uf2(X: Array, _m: int = 2) -> Array:
    x, Z, j = _stretch(X, -1.0, 1.0)
    a, d = x[:, None], X.shape[1]
    phase = 6.0 * np.pi * a + j * np.pi / d
    wave = 0.3 * a**2 * np.cos(24.0 * np.pi * a + 4.0 * j * np.pi / d) + 0.6 * a
    y = Z - wave * np.where(j % 2 == 1, np.cos(phase), np.sin(phase))
    front = np.column_stack([x, 1.0 - np.sqrt(x)])
    return front + _odd_and_even(y**2, j, _sum)


def uf3(X: Array, _m: int = 2) -> Array:
    x, Z, j = _stretch(X, 0.0, 1.0)
    exponent = 0.5 * (1.0 + 3.0 * (j - 2.0) / (X.shape[1] - 2.0))
    y = Z - x[:, None] ** exponent
    front = np.column_stack([x, 1.0 - np.sqrt(x)])
    return front + _odd_and_even(y, j, _rugged)


def uf4(X: Array, _m: int = 2) -> Array:
    x, Z, j = _stretch(X, -2.0, 2.0)
    y = np.abs(_sine(x, Z, j))
    front = np.column_stack([x, 1.0 - x**2])
    return front + _odd_and_even(y / (1.0 + np.exp(2.0 * y)), j, _sum)


def uf5(X: Array, _m: int = 2) -> Array:
    x, Z, j = _stretch(X, -1.0, 1.0)
    y = _sine(x, Z, j)
    bumps = (1.0 / 20.0 + 0.1) * np.abs(np.sin(20.0 * np.pi * x))
    front = np.column_stack([x + bumps, 1.0 - x + bumps])
    terms = 2.0 * y**2 - np.cos(4.0 * np.pi * y) + 1.0
    return front + _odd_and_even(terms, j, _sum)


def uf6(X: Array, _m: int = 2) -> Array:
    x, Z, j = _stretch(X, -1.0, 1.0)
    bumps = np.maximum(0.0, 2.0 * (1.0 / 4.0 + 0.1) * np.sin(4.0 * np.pi * x))
    front = np.column_stack([x + bumps, 1.0 - x + bumps])
    return front + _odd_and_even(_sine(x, Z, j), j, _rugged)


def uf7(X: Array, _m: int = 2) -> Array:
    x, Z, j = _stretch(X, -1.0, 1.0)
    root = x**0.2
    front = np.column_stack([root, 1.0 - root])
    return front + _odd_and_even(_sine(x, Z, j) ** 2, j, _sum)


UF: dict[str, Evaluate] = {
    "uf1": uf1, "uf2": uf2, "uf3": uf3, "uf4": uf4, "uf5": uf5, "uf6": uf6, "uf7": uf7,
}  # fmt: skip
