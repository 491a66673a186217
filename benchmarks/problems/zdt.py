"""ZDT1-4 and ZDT6 on the unit cube, two objectives, vectorised over points (Zitzler,
Deb and Thiele 2000).

X (n, d) points · x (n,) first variable · g (n,) distance to the front
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _linear(X: Array) -> Array:
    return np.asarray(1.0 + 9.0 * X[:, 1:].mean(axis=1))


def zdt1(X: Array, _m: int = 2) -> Array:
    x, g = X[:, 0], _linear(X)
    return np.column_stack([x, g * (1.0 - np.sqrt(x / g))])


def zdt2(X: Array, _m: int = 2) -> Array:
    x, g = X[:, 0], _linear(X)
    return np.column_stack([x, g * (1.0 - (x / g) ** 2)])


def zdt3(X: Array, _m: int = 2) -> Array:
    x, g = X[:, 0], _linear(X)
    wave = x / g * np.sin(10.0 * np.pi * x)
    return np.column_stack([x, g * (1.0 - np.sqrt(x / g) - wave)])


def zdt4(X: Array, _m: int = 2) -> Array:
    x, Z = X[:, 0], 10.0 * X[:, 1:] - 5.0
    terms = Z**2 - 10.0 * np.cos(4.0 * np.pi * Z) + 10.0
    g = 1.0 + terms.sum(axis=1)
    return np.column_stack([x, g * (1.0 - np.sqrt(x / g))])


def zdt6(X: Array, _m: int = 2) -> Array:
    x = X[:, 0]
    f = 1.0 - np.exp(-4.0 * x) * np.sin(6.0 * np.pi * x) ** 6
    g = 1.0 + 9.0 * X[:, 1:].mean(axis=1) ** 0.25
    return np.column_stack([f, g * (1.0 - (f / g) ** 2)])


ZDT: dict[str, Callable[[Array, int], Array]] = {
    "zdt1": zdt1, "zdt2": zdt2, "zdt3": zdt3, "zdt4": zdt4, "zdt6": zdt6,
}  # fmt: skip
