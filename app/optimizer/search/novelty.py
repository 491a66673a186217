"""Which points are new: a point is never proposed twice."""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from scipy.spatial import KDTree

from app.optimizer.arrays import Bools, Floats, Ints

TOLERANCE = 1e-6  # max-norm in the unit cube: points nearer than this count as the same

Source = TypeVar("Source")


def is_new(X: Floats, known: Floats, tolerance: float = TOLERANCE) -> Bools:
    """Which rows of X (n, d) are neither known (k, d) nor the same as an earlier row
    that is new.
    """
    new = np.zeros(len(X), dtype=np.bool_)
    # There can be many exact copies: remove them at once
    _, first = np.unique(X, axis=0, return_index=True)
    new[first] = True
    new[new] = _count_near(X[new], _tree(known), tolerance) == 0
    candidates = np.flatnonzero(new)
    tree = _tree(X[candidates])
    crowded = _count_near(X[candidates], tree, tolerance) > 1
    for row in candidates[crowded]:
        near = candidates[tree.query_ball_point(X[row], tolerance, p=np.inf)]
        earlier = near[near < row]
        new[row] = not new[earlier].any()
    return new


def take_new(
    sources: Iterable[tuple[Source, Floats]], count: int, known: Floats
) -> tuple[Floats, tuple[Source, ...]]:
    """The first `count` new points of the sources in turn, and the source of each;
    fewer if there are no more.
    """
    chosen = np.empty((0, known.shape[1]))  # (k, d)
    origins: list[Source] = []
    if count <= 0:
        return chosen, ()
    tree = _tree(known)
    for source, X in sources:
        unknown = X[_count_near(X, tree, TOLERANCE) == 0]
        fresh = unknown[is_new(unknown, chosen)]
        fresh = fresh[: count - len(chosen)]
        chosen = np.vstack([chosen, fresh])
        origins += [source] * len(fresh)
        if len(chosen) >= count:
            break
    return chosen, tuple(origins)


def _tree(X: Floats) -> KDTree:
    # A tree that is asked once: quick to build rather than even
    return KDTree(X, compact_nodes=False, balanced_tree=False)


def _count_near(X: Floats, tree: KDTree, tolerance: float) -> Ints:
    """The number of points of the tree that count as the same as each row of X, (n,)."""
    counts = tree.query_ball_point(X, tolerance, p=np.inf, return_length=True)
    return np.asarray(counts, dtype=np.int64)
