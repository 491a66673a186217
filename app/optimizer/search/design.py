"""Space-filling points: the initial design, and the rest of the space when nothing
better is available.
"""

from collections.abc import Iterator
from math import ceil, prod

import numpy as np
from numpy.random import Generator
from scipy.stats import qmc

from app.optimizer.arrays import Floats
from app.optimizer.problem import Problem, Variables, requirements_of, width_of
from app.optimizer.search.novelty import take_new
from app.optimizer.search.requirements import satisfied
from app.optimizer.space import encode, from_unit

ROUNDS = 5  # hypercubes tried before giving up; one is enough unless integers coincide
# all-integer spaces up to this size are enumerated, so that their last points are found
# too
ENUMERABLE = 100_000
CHUNK = 512  # points of an enumerated space that are compared together
# Points drawn for those that satisfy the requirements: at first, in one hypercube, and
# before giving up
FEWEST_DRAWN, MOST_AT_ONCE, MOST_DRAWN = 64, 100_000, 1_000_000


def initial_design(
    problem: Problem, n: int, rng: Generator, known: Floats | None = None
) -> Floats:
    """A Latin hypercube of n new feasible points, (n, D), other than the known (k, D);
    fewer only if there are none.
    """
    if known is None:
        known = np.empty((0, problem.width))
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
        X = X[satisfied(variables, X)]
        shuffled = X[rng.permutation(len(X))]
        for start in range(0, len(X), CHUNK):
            yield shuffled[start : start + CHUNK]


def latin(variables: Variables, count: int, rng: Generator) -> Floats:
    """A Latin hypercube of `count` points, (count, D); the choices of a category occur
    equally often, to within one.

    With requirements: as many points of a larger one; fewer if hardly any satisfies
    them.
    """
    if not requirements_of(variables):
        return _hypercube(variables, count, rng)
    found = np.empty((0, width_of(variables)))
    size, drawn = max(count, FEWEST_DRAWN), 0
    while len(found) < count and drawn < MOST_DRAWN:
        X = _hypercube(variables, size, rng)
        found = np.vstack([found, X[satisfied(variables, X)]])
        drawn += size
        missing = count - len(found)
        # As many as the share that was found suggests
        size = min(ceil(1.2 * missing * drawn / max(len(found), 1)), MOST_AT_ONCE)
    return found[:count]


def _hypercube(variables: Variables, count: int, rng: Generator) -> Floats:
    hypercube = qmc.LatinHypercube(len(variables), rng=rng)
    return from_unit(variables, hypercube.random(count))


def share_satisfied(variables: Variables, rng: Generator) -> float:
    """The share of the space that satisfies the requirements: exact if it can be
    enumerated, else estimated.
    """
    enumerable = space_size(variables) <= ENUMERABLE
    X = grid(variables) if enumerable else _hypercube(variables, MOST_AT_ONCE, rng)
    return float(satisfied(variables, X).mean())


def space_size(variables: Variables) -> float:
    """The number of different points; infinite unless no variable is a float."""
    if any(variable.kind == "float" for variable in variables):
        return np.inf
    return prod(
        float(variable.high) - float(variable.low) + 1.0 for variable in variables
    )


def grid(variables: Variables) -> Floats:
    """Every point of a space without floats, (n, D)."""
    levels = [np.arange(variable.low, variable.high + 1) for variable in variables]
    axes = np.meshgrid(*levels, indexing="ij")
    X = np.stack(axes, axis=-1).reshape(-1, len(variables))
    return encode(variables, X)
