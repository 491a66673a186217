"""Cheap-only samples at points that all cheap objectives share.

With unequal ratios the first points get all cheap objectives and the last ones only the
cheapest.
"""

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Problem
from app.optimizer.search.design import initial_design


def initial_counts(problem: Problem, n: int) -> Ints:
    """Cheap-only evaluations of each objective that fit beside the design of n points:
    (r_j - 1) n, (m,).
    """
    counts = np.zeros(problem.m, dtype=np.int64)
    for j in problem.cheap:
        counts[j] = (int(problem.ratios[j]) - 1) * n
    return counts


def initial_points(
    problem: Problem, n: int, design: Floats, rng: np.random.Generator
) -> tuple[Floats, ...]:
    """A Latin hypercube for the initial phase, apart from the design: the points of
    each objective, (n_j, d).
    """
    counts = initial_counts(problem, n)
    X = initial_design(problem, int(counts.max()), rng, known=design)
    return share(X, counts)


def share(X: Floats, counts: Ints) -> tuple[Floats, ...]:
    """The first counts[j] points for objective j: (n_j, d) each."""
    return tuple(X[:count] for count in counts)


def extra_counts(problem: Problem, batch: int, full_evaluations: Ints) -> Ints:
    """Cheap-only evaluations of each objective in one step, (m,): what r_j per full
    sample leaves.

    `full_evaluations` (m,): evaluations of each objective that the step's own full
    samples need. A promoted sample needs no evaluation of an objective that is known,
    so these become extras.
    """
    counts = np.zeros(problem.m, dtype=np.int64)
    for j in problem.cheap:
        counts[j] = batch * int(problem.ratios[j]) - full_evaluations[j]
    return np.maximum(counts, 0)
