"""Points that compete for a place in a step, with what is predicted of them on the
scale of the front.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from app.optimizer.arrays import Bools, Floats, Ints
from app.optimizer.strategies.counterpoise.directions import winners, worths
from app.optimizer.strategies.counterpoise.scale import dominated_by
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings

FRESH = -1  # the pool row of a point that is not in the pool


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    X: Floats  # (C, d)
    mean: Floats  # (C, m), scaled
    deviation: Floats  # (C, m), scaled
    pool_row: Ints  # (C,): row of the pool, or FRESH

    def __len__(self) -> int:
        return len(self.X)

    def rows(self, chosen: Ints | Bools) -> Self:
        return type(self)(
            self.X[chosen],
            self.mean[chosen],
            self.deviation[chosen],
            self.pool_row[chosen],
        )


def fresh_candidates(X: Floats, mean: Floats, deviation: Floats) -> Candidates:
    return Candidates(X, mean, deviation, np.full(len(X), FRESH, dtype=np.int64))


def join(first: Candidates, second: Candidates) -> Candidates:
    return Candidates(
        np.vstack([first.X, second.X]),
        np.vstack([first.mean, second.mean]),
        np.vstack([first.deviation, second.deviation]),
        np.append(first.pool_row, second.pool_row),
    )


def promising(
    candidates: Candidates,
    A: Floats,
    W: Floats,
    settings: CounterpoiseSettings,
    rng: np.random.Generator,
) -> Ints:
    """Rows that may still reach the front: mean - 2 deviations is not dominated by A
    (a, m); thinned if many.
    """
    optimistic = candidates.mean - settings.optimism * candidates.deviation
    rows = np.flatnonzero(~dominated_by(optimistic, A))
    if len(rows) <= settings.candidates:
        return rows
    best = winners(worths(candidates.mean[rows], W, settings), 1)
    others = np.setdiff1d(np.arange(len(rows)), best)
    drawn = rng.permutation(others)[: settings.random_candidates]
    kept = np.sort(np.append(best, drawn))
    return np.asarray(rows[kept])
