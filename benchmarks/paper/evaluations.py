"""Evaluations of a benchmark problem, counted per objective, so that strategies are
compared at equal cost.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.optimizer.problem import Problem
from benchmarks.problems.catalogue import Instance

Array = NDArray[np.float64]


def ratios(instance: Instance, rc: int | tuple[float, ...]) -> tuple[float, ...]:
    """r = (r_c, …, r_c, 1), as in the paper's tables, or the ratios themselves."""
    if isinstance(rc, int):
        return (*[float(rc)] * (instance.m - 1), 1.0)
    return rc


class Evaluations:
    """r_j * FE_max evaluations of objective j are allowed: r_j for each full sample, as
    in [SBP-BO].
    """

    def __init__(self, instance: Instance, declared: Problem, budget: int) -> None:
        self.instance = instance
        # (m,)
        self.allowed = np.array([int(ratio) * budget for ratio in declared.ratios])
        self.counts = np.zeros(instance.m, dtype=np.int64)

    def all(self, X: Array) -> Array:
        """All objectives at X (n, d): (n, m)."""
        return self.some(X, range(self.instance.m))

    def some(self, X: Array, objectives: Sequence[int]) -> Array:
        """The named objectives at X (n, d): (n, len(objectives))."""
        chosen = list(objectives)
        self.counts[chosen] += len(X)
        if (self.counts > self.allowed).any():
            raise ValueError(
                f"{self.counts.tolist()} evaluations of the objectives; {self.allowed.tolist()} allowed"
            )
        return self.instance.evaluate(X)[:, chosen]

    def are_used_up(self) -> bool:
        return bool((self.counts == self.allowed).all())
