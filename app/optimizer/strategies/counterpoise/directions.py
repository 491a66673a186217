"""Directions in the scaled objective space, and what a point is worth for each of them
(larger is better).

| symbol | here        | meaning                                                       |
|--------|-------------|---------------------------------------------------------------|
| w      | `W` (K, m)  | weights of a direction, sum 1                                 |
| v      | `V` (K, m)  | the same, of length 1                                         |
| F      | `F` (N, m)  | objectives on the scale of `scale.front_scale`                |
"""

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings


def directions(m: int, settings: CounterpoiseSettings) -> Floats:
    """Weights of the lattice's directions, (K, m); one objective has one direction."""
    if m == 1:
        return np.ones((1, 1))
    V = reference_vectors(m, settings.lattice)
    return np.asarray(V / V.sum(axis=1, keepdims=True))


def ray_worth(F: Floats, W: Floats, settings: CounterpoiseSettings) -> Floats:
    """How far a ray from (1.1, …, 1.1) against w goes until F no longer dominates it,
    (K, N); O(N K m) time.
    """
    worth = np.full((len(W), len(F)), np.inf)
    for f, w in zip(F.T, np.maximum(W, settings.smallest_weight).T, strict=True):
        np.minimum(worth, np.outer(1.0 / w, settings.ray_origin - f), out=worth)
    return worth


def pbi_worth(F: Floats, W: Floats, settings: CounterpoiseSettings) -> Floats:
    """Minus the penalty-based boundary intersection, -(F.v + 5 |F - (F.v) v|), (K, N)."""
    V = W / np.linalg.norm(W, axis=1, keepdims=True)
    along = V @ F.T  # (K, N)
    across = np.maximum((F * F).sum(axis=1) - along**2, 0.0)
    return np.asarray(-(along + settings.pbi_penalty * np.sqrt(across)))


def corner_worth(F: Floats) -> Floats:
    """Minus the length of F without objective i, for each i: (m, N).

    The winner is where the front ends in objective i, however far that is beyond the
    range seen so far: rays and PBI hardly go beyond 1.1 of it.
    """
    squares = (F * F).T  # (m, N)
    others = np.maximum(squares.sum(axis=0) - squares, 0.0)
    return np.asarray(-np.sqrt(others))


def worths(F: Floats, W: Floats, settings: CounterpoiseSettings) -> Floats:
    """All worths one below the other, (2K, N), or (2K + m, N) with corners."""
    found = [ray_worth(F, W, settings), pbi_worth(F, W, settings)]
    if settings.corners and F.shape[1] > 1:
        found.append(corner_worth(F))
    return np.vstack(found)


def winners(worth: Floats, count: int) -> Ints:
    """Columns that are among the `count` best of any row of worth (C, N); ascending."""
    if count >= worth.shape[1]:
        return np.arange(worth.shape[1])
    left = worth.copy()
    won = np.zeros(worth.shape[1], dtype=np.bool_)
    for _ in range(count):
        best = left.argmax(axis=1)
        won[best] = True
        left[np.arange(len(left)), best] = -np.inf
    return np.flatnonzero(won)
