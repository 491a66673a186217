"""DTLZ1-7 on the unit cube, vectorised over points (Deb et al. 2002, as [SBP-BO] uses
them: k = d - m + 1), and DTLZ1a and DTLZ3a, whose g has a tenth of the waves.

X (n, d) points · m objectives · Z = X[:, m-1:] (n, k) distance variables · g (n,)
distance to the front
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def products(A: Array, B: Array) -> Array:
    """f_1 = a_1 … a_{m-1}, f_2 = a_1 … a_{m-2} b_{m-1}, …, f_m = b_1."""
    ones = np.ones((len(A), 1))
    heads: Array = np.cumprod(np.hstack([ones, A]), axis=1, dtype=np.float64)
    return heads[:, ::-1] * np.hstack([ones, B[:, ::-1]])  # (n, m)


def linear(Y: Array) -> Array:
    return products(Y, 1.0 - Y)


def sphere(Y: Array) -> Array:
    return products(np.cos(Y * np.pi / 2), np.sin(Y * np.pi / 2))


def _rugged(Z: Array, frequency: float = 20.0) -> Array:
    shifted = Z - 0.5
    terms = shifted**2 - np.cos(frequency * np.pi * shifted)
    return np.asarray(100.0 * (Z.shape[1] + np.sum(terms, axis=1)))


def _less_rugged(Z: Array) -> Array:
    return _rugged(Z, 2.0)


def _bowl(Z: Array) -> Array:
    return np.asarray(np.sum((Z - 0.5) ** 2, axis=1))


def _curve(X: Array, m: int, g: Array) -> Array:
    """All position angles but the first are drawn to 45 degrees as g falls to 0: the
    front is a curve.
    """
    Y = (1.0 + 2.0 * g[:, None] * X[:, : m - 1]) / (2.0 * (1.0 + g[:, None]))
    Y[:, 0] = X[:, 0]
    return (1.0 + g)[:, None] * sphere(Y)


def dtlz1(X: Array, m: int) -> Array:
    return 0.5 * (1.0 + _rugged(X[:, m - 1 :]))[:, None] * linear(X[:, : m - 1])


def dtlz2(X: Array, m: int) -> Array:
    return (1.0 + _bowl(X[:, m - 1 :]))[:, None] * sphere(X[:, : m - 1])


def dtlz3(X: Array, m: int) -> Array:
    return (1.0 + _rugged(X[:, m - 1 :]))[:, None] * sphere(X[:, : m - 1])


def dtlz1a(X: Array, m: int) -> Array:
    return 0.5 * (1.0 + _less_rugged(X[:, m - 1 :]))[:, None] * linear(X[:, : m - 1])


def dtlz3a(X: Array, m: int) -> Array:
    return (1.0 + _less_rugged(X[:, m - 1 :]))[:, None] * sphere(X[:, : m - 1])


def dtlz4(X: Array, m: int) -> Array:
    return (1.0 + _bowl(X[:, m - 1 :]))[:, None] * sphere(X[:, : m - 1] ** 100)


def dtlz5(X: Array, m: int) -> Array:
    return _curve(X, m, _bowl(X[:, m - 1 :]))


def dtlz6(X: Array, m: int) -> Array:
    return _curve(X, m, np.sum(X[:, m - 1 :] ** 0.1, axis=1))


def dtlz7(X: Array, m: int) -> Array:
    F = X[:, : m - 1]
    g = 1.0 + 9.0 * np.mean(X[:, m - 1 :], axis=1)
    h = m - np.sum(F / (1.0 + g[:, None]) * (1.0 + np.sin(3 * np.pi * F)), axis=1)
    return np.column_stack([F, (1.0 + g) * h])


DTLZ: dict[str, Callable[[Array, int], Array]] = {
    "dtlz1": dtlz1, "dtlz2": dtlz2, "dtlz3": dtlz3, "dtlz4": dtlz4, "dtlz5": dtlz5, "dtlz6": dtlz6, "dtlz7": dtlz7,
}  # fmt: skip
VARIANTS: dict[str, Callable[[Array, int], Array]] = {
    "dtlz1a": dtlz1a, "dtlz3a": dtlz3a,
}  # fmt: skip
