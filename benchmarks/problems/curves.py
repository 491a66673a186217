"""Reference sets of the problems with two objectives: points on their fronts."""

from collections.abc import Callable

import moocore
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
POINTS = 10_000
LOWEST_ZDT6 = 0.2807753191  # the smallest f_1 that ZDT6 has


def _curve(second: Callable[[Array], Array], low: float = 0.0) -> Array:
    f = np.linspace(low, 1.0, POINTS)
    return np.column_stack([f, second(f)])


def _root(_m: int = 2) -> Array:
    return _curve(lambda f: 1.0 - np.sqrt(f))


def _square(_m: int = 2) -> Array:
    return _curve(lambda f: 1.0 - f**2)


def _line(_m: int = 2) -> Array:
    return _curve(lambda f: 1.0 - f)


def _zdt3(_m: int = 2) -> Array:
    R = _curve(lambda f: 1.0 - np.sqrt(f) - f * np.sin(10.0 * np.pi * f))
    return np.asarray(R[moocore.is_nondominated(R, keep_weakly=True)])


def _zdt6(_m: int = 2) -> Array:
    return _curve(lambda f: 1.0 - f**2, LOWEST_ZDT6)


def _uf5(_m: int = 2) -> Array:
    f = np.arange(21) / 20.0
    return np.column_stack([f, 1.0 - f])


def _uf6(_m: int = 2) -> Array:
    half = POINTS // 2
    pieces = [np.linspace(0.25, 0.5, half), np.linspace(0.75, 1.0, half)]
    f = np.concatenate([[0.0], *pieces])
    return np.column_stack([f, 1.0 - f])


CURVES: dict[str, Callable[[int], Array]] = {
    **dict.fromkeys(("uf1", "uf2", "uf3", "zdt1", "zdt4"), _root),
    **dict.fromkeys(("uf4", "zdt2"), _square),
    "uf5": _uf5,
    "uf6": _uf6,
    "uf7": _line,
    "zdt3": _zdt3,
    "zdt6": _zdt6,
}
