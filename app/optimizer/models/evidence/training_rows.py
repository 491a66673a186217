"""Which values the model of one objective learns from.

Full samples come first, so that two models of different data can be compared at them.
Next come the newest cheap-only samples and, where they are wanted, points of the
initial stream, those farthest from what is known first.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from app.optimizer.arrays import Floats, Ints
from app.optimizer.snapshot import Data

MOST_ROWS = 400
MOST_STREAM = 300


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """Distinct points; the first `full` are full samples."""

    X: Floats  # (n, d)
    y: Floats  # (n,)
    full: int


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """All values of one objective."""

    full: Data  # of full samples, incomplete ones included
    extra: Data  # of cheap-only samples
    extra_steps: Ints  # the step that asked for each of them
    stream: Data  # of the initial stream


def without_stream(told: Told) -> TrainingRows:
    """All full samples and the newest cheap-only ones."""
    full = merge(told.full)
    room = MOST_ROWS - len(full)
    if room <= 0:
        return _stack(full)
    extra = not_in(merge_newest(told.extra, told.extra_steps), full)
    return _stack(full, _head(extra, room))


def with_stream(told: Told) -> TrainingRows:
    """The stream has up to `MOST_STREAM` of the rows that full samples leave, the
    newest cheap-only ones the rest.

    Where there are too many of both, each has half.
    """
    full = merge(told.full)
    extra = not_in(merge_newest(told.extra, told.extra_steps), full)
    room = max(0, MOST_ROWS - len(full))
    kept = min(len(extra), room // 2)
    known = _stack(full, _head(extra, kept))
    stream = not_in(not_in(merge(told.stream), full), extra)
    rows = farthest_first(stream.X, known.X, min(MOST_STREAM, room - kept))
    chosen = Data(stream.X[rows], stream.y[rows])
    return _stack(full, _head(extra, room - len(chosen)), chosen)


def farthest_first(X: Floats, known: Floats, most: int) -> Ints:
    """Rows of X, each the farthest from the known points and from those before it."""
    chosen: list[int] = []
    if len(X) == 0:
        return np.array(chosen, dtype=np.int64)
    nearest = np.full(len(X), np.inf)
    if len(known) > 0:
        nearest = cdist(X, known, "sqeuclidean").min(axis=1)
    for _ in range(min(most, len(X))):
        row = int(np.argmax(nearest))
        chosen.append(row)
        squares = ((X - X[row]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, squares)
        nearest[row] = -1.0
    return np.array(chosen, dtype=np.int64)


def merge(data: Data) -> Data:
    """Each point once, with the mean of its values, in an order of its own."""
    points, inverse, counts = np.unique(
        data.X, axis=0, return_inverse=True, return_counts=True
    )
    sums = np.bincount(inverse.ravel(), weights=data.y, minlength=len(points))
    return Data(points, sums / counts)


def merge_newest(data: Data, steps: Ints) -> Data:
    """The same, the newest points first; within a step as if at random, so that a limit
    leaves out no region.
    """
    order = np.lexsort((*data.X.T[::-1], shuffled(data.X), -steps))
    _, first = np.unique(data.X[order], axis=0, return_index=True)
    order = order[np.sort(first)]
    return Data(data.X[order], data.y[order])


def shuffled(X: Floats) -> Floats:
    """A number in [0, 1) per point that depends on the point alone and looks random,
    (n,).
    """
    multipliers = 1e4 * np.sqrt(np.arange(2.0, X.shape[1] + 2.0))
    return np.asarray(np.modf(X @ multipliers)[0])


def not_in(data: Data, other: Data) -> Data:
    """The rows of `data` whose point is not in `other`."""
    known = {row.tobytes() for row in np.ascontiguousarray(other.X)}
    kept = [
        i
        for i, row in enumerate(np.ascontiguousarray(data.X))
        if row.tobytes() not in known
    ]
    return Data(data.X[kept], data.y[kept])


def _head(data: Data, most: int) -> Data:
    return Data(data.X[:most], data.y[:most])


def _stack(full: Data, *others: Data) -> TrainingRows:
    X = np.vstack([full.X, *(other.X for other in others)])
    y = np.concatenate([full.y, *(other.y for other in others)])
    return TrainingRows(X, y, len(full))
