"""Space-filling points: the initial design, and what is left of the space when nothing better is."""

from collections.abc import Iterator
from math import prod

import numpy as np
from scipy.stats import qmc

from app.optimizer.arrays import Floats
from app.optimizer.problem import Problem, Variable
from app.optimizer.search.novelty import take_new
from app.optimizer.space import encode, snap

ROUNDS = 5  # hypercubes tried before giving up; one is enough unless integers coincide
ENUMERABLE = 100_000  # all-integer spaces up to this size are enumerated, so that their last points are found too
CHUNK = 512  # points of an enumerated space that are looked at together


def initial_design(problem: Problem, n: int, rng: np.random.Generator, known: Floats | None = None) -> Floats:
    """A Latin hypercube of n new feasible points, (n, d), other than the known (k, d); fewer only if there are none."""
    nothing = np.empty((0, problem.d))
    X, _ = take_new((("latin", X) for X in filling(problem.variables, n, rng)), n, nothing if known is None else known)
    return X


def filling(variables: tuple[Variable, ...], count: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Latin hypercubes of at least `count` points; at last every point of a space that can be enumerated."""
    for _ in range(ROUNDS):
        yield latin(variables, count, rng)
    if space_size(variables) <= ENUMERABLE:
        X = grid(variables)
        order = rng.permutation(len(X))
        for i in range(0, len(X), CHUNK):
            yield X[order[i : i + CHUNK]]


def latin(variables: tuple[Variable, ...], count: int, rng: np.random.Generator) -> Floats:
    return snap(variables, qmc.LatinHypercube(len(variables), rng=rng).random(count))


def space_size(variables: tuple[Variable, ...]) -> float:
    """How many different points there are; infinite unless all variables are integers."""
    if any(variable.kind == "float" for variable in variables):
        return np.inf
    return prod(float(variable.high) - float(variable.low) + 1.0 for variable in variables)


def grid(variables: tuple[Variable, ...]) -> Floats:
    """Every point of an all-integer space, (n, d)."""
    levels = [np.arange(variable.low, variable.high + 1) for variable in variables]
    return encode(variables, np.stack(np.meshgrid(*levels, indexing="ij"), axis=-1).reshape(-1, len(variables)))
