"""Samples with some of their objectives told: the pool of cheap-only samples, and full
samples that are running.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from app.optimizer.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """One row per sample. `F` is 0 where `known` is false."""

    X: Floats  # (N, d)
    F: Floats  # (N, m)
    known: Bools  # (N, m)
    steps: Ints  # (N,): the step that asked for the sample, 0 for the initial phase

    def __post_init__(self) -> None:
        N = len(self.X)
        shapes = (self.X.ndim, self.F.ndim, self.F.shape, self.steps.shape)
        if shapes != (2, 2, self.known.shape, (N,)) or len(self.F) != N:
            raise ValueError(
                f"{N} points do not fit values of shape {self.F.shape} and steps {self.steps.shape}"
            )
        if not (np.isfinite(self.X).all() and np.isfinite(self.F).all()):
            raise ValueError("points and values must be finite; an unknown value is 0")

    def __len__(self) -> int:
        return len(self.X)

    def rows(self, chosen: Ints | Bools) -> Self:
        return type(self)(
            self.X[chosen], self.F[chosen], self.known[chosen], self.steps[chosen]
        )


def new_samples(X: Floats, m: int, step: int) -> Samples:
    """Points (N, d) of which nothing is known."""
    values = np.zeros((len(X), m))
    return Samples(
        X, values, values.astype(np.bool_), np.full(len(X), step, dtype=np.int64)
    )


def no_samples(d: int, m: int) -> Samples:
    return new_samples(np.empty((0, d)), m, 0)


def join(first: Samples, second: Samples) -> Samples:
    return Samples(
        np.vstack([first.X, second.X]),
        np.vstack([first.F, second.F]),
        np.vstack([first.known, second.known]),
        np.append(first.steps, second.steps),
    )
