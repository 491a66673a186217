"""Which points are new: a point once proposed is never proposed again."""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from scipy.spatial import KDTree

from app.optimizer.arrays import Bools, Floats, Ints

TOLERANCE = 1e-6  # max-norm in the unit cube: nearer than this is the same point

S = TypeVar("S")


def is_new(X: Floats, known: Floats, tolerance: float = TOLERANCE) -> Bools:
    """Which rows of X (n, d) are neither known (k, d) nor the same as an earlier row that is new."""
    _, first = np.unique(X, axis=0, return_index=True)  # so that copies, of which there may be many, cost nothing
    new = np.zeros(len(X), dtype=np.bool_)
    new[first] = True
    new[new] = _near(X[new], KDTree(known), tolerance) == 0
    candidates = np.flatnonzero(new)
    tree = KDTree(X[candidates])
    for i in np.flatnonzero(_near(X[candidates], tree, tolerance) > 1):
        near = candidates[tree.query_ball_point(X[candidates[i]], tolerance, p=np.inf)]
        new[candidates[i]] = not new[near[near < candidates[i]]].any()
    return new


def take_new(sources: Iterable[tuple[S, Floats]], count: int, known: Floats) -> tuple[Floats, tuple[S, ...]]:
    """The first `count` new points of the sources in turn, and where each came from; fewer if there are no more."""
    chosen = np.empty((0, known.shape[1]))  # (k, d)
    names: list[S] = []
    if count <= 0:
        return chosen, ()
    tree = KDTree(known)
    for name, X in sources:
        unknown = X[_near(X, tree, TOLERANCE) == 0]
        fresh = unknown[is_new(unknown, chosen)][: count - len(chosen)]
        chosen = np.vstack([chosen, fresh])
        names += [name] * len(fresh)
        if len(chosen) >= count:
            break
    return chosen, tuple(names)


def _near(X: Floats, tree: KDTree, tolerance: float) -> Ints:
    """How many points of the tree are the same as each row of X, (n,)."""
    return np.asarray(tree.query_ball_point(X, tolerance, p=np.inf, return_length=True), dtype=np.int64)
