"""Which points are new: a point once proposed is never proposed again."""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from scipy.spatial.distance import cdist

from app.optimizer.arrays import Bools, Floats

TOLERANCE = 1e-6  # max-norm in the unit cube: nearer than this is the same point

S = TypeVar("S")


def is_new(X: Floats, known: Floats, tolerance: float = TOLERANCE) -> Bools:
    """Which rows of X (n, d) are neither known (k, d) nor the same as an earlier row that is new."""
    new = _far(X, known, tolerance)
    candidates = np.flatnonzero(new)
    near = cdist(X[candidates], X[candidates], "chebyshev") <= tolerance  # (c, c)
    for i in np.flatnonzero(np.tril(near, -1).any(axis=1)):
        new[candidates[i]] = not (near[i, :i] & new[candidates[:i]]).any()
    return new


def take_new(sources: Iterable[tuple[S, Floats]], count: int, known: Floats) -> tuple[Floats, tuple[S, ...]]:
    """The first `count` new points of the sources in turn, and where each came from; fewer if there are no more."""
    chosen = np.empty((0, known.shape[1]))  # (k, d)
    names: list[S] = []
    if count <= 0:
        return chosen, ()
    for name, X in sources:
        fresh = X[is_new(X, np.vstack([known, chosen]))][: count - len(chosen)]
        chosen = np.vstack([chosen, fresh])
        names += [name] * len(fresh)
        if len(chosen) >= count:
            break
    return chosen, tuple(names)


def _far(X: Floats, known: Floats, tolerance: float) -> Bools:
    if len(X) == 0 or len(known) == 0:
        return np.ones(len(X), dtype=np.bool_)
    return np.asarray(cdist(X, known, "chebyshev").min(axis=1) > tolerance, dtype=np.bool_)
