"""Space-filling points: the initial design, and the rest of the space when nothing
better is available.
"""

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.random import Generator
from scipy.stats import qmc

from app.optimizer.arrays import Floats
from app.optimizer.problem import Problem, Variables
from app.optimizer.search.novelty import take_new
from app.optimizer.space import encode, snap

ROUNDS = 5  # hypercubes tried before giving up; one is enough unless integers coincide
# all-integer spaces up to this size are enumerated, so that their last points are found
# too
ENUMERABLE = 100_000
CHUNK = 512  # points of an enumerated space that are compared together


def initial_design(
    problem: Problem, n: int, rng: Generator, known: Floats | None = None
) -> Floats:
    """A Latin hypercube of n new feasible points, (n, d), other than the known (k, d);
    fewer only if there are none.
    """
    if known is None:
        known = np.empty((0, problem.d))
    sources = (("latin", X) for X in filling(problem.variables, n, rng))
    X, _ = take_new(sources, n, known)
    return X


def filling(variables: Variables, count: int, rng: Generator) -> Iterator[Floats]:
    """Latin hypercubes of at least `count` points; at last every point of a space that
    can be enumerated.
    """
    for _ in range(ROUNDS):
        yield latin(variables, count, rng)
    if space_size(variables) <= ENUMERABLE:
        X = grid(variables)
        shuffled = X[rng.permutation(len(X))]
        for start in range(0, len(X), CHUNK):
            yield shuffled[start : start + CHUNK]


def latin(variables: Variables, count: int, rng: Generator) -> Floats:
    hypercube = qmc.LatinHypercube(len(variables), rng=rng)
    return snap(variables, hypercube.random(count))


def space_size(variables: Variables) -> float:
    """The number of different points; infinite unless all variables are integers."""
    if any(variable.kind == "float" for variable in variables):
        return np.inf
    return prod(
        float(variable.high) - float(variable.low) + 1.0 for variable in variables
    )


def grid(variables: Variables) -> Floats:
    """Every point of an all-integer space, (n, d)."""
    levels = [np.arange(variable.low, variable.high + 1) for variable in variables]
    axes = np.meshgrid(*levels, indexing="ij")
    X = np.stack(axes, axis=-1).reshape(-1, len(variables))
    return encode(variables, X)
