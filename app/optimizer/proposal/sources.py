"""Where the points of a batch come from, best source first.

With limits, every source first gives its points that keep them with a probability of at
least one half; only when these are exhausted come others, the most probable first.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Bools, Floats, Ints
from app.optimizer.models.feasibility import LIKELY, Feasibility
from app.optimizer.problem import Variables
from app.optimizer.proposal.proposal import Source
from app.optimizer.search.design import filling
from app.optimizer.search.operators import breed

ROUNDS = 3  # broods of offspring tried before the rest is filled with Latin hypercubes
BROOD = 50  # offspring of one round, at least


@dataclass(frozen=True, slots=True, eq=False)
class Preference:
    """Which points keep the limits; without limits all do."""

    feasibility: Feasibility | None

    def is_likely(self, X: Floats) -> Bools:
        """(n,) of X (n, D)"""
        if self.feasibility is None:
            return np.ones(len(X), dtype=np.bool_)
        return np.asarray(self.feasibility.probability(X) >= LIKELY)

    def most_probable_first(self, X: Floats) -> Ints:
        if self.feasibility is None:
            return np.arange(len(X))
        # Far from the limits every probability is 0
        violation = self.feasibility.violation(X)
        return np.lexsort((violation, -self.feasibility.probability(X)))

    def likely(self, X: Floats) -> Floats:
        return X if self.feasibility is None else X[self.is_likely(X)]


def point_sources(
    variables: Variables,
    X: Floats,
    selected: Ints,
    count: int,
    preference: Preference,
    rng: Generator,
) -> Iterator[tuple[Source, Floats]]:
    """Best source first; each is computed only if those before it were not enough."""
    # Differs from [SBP-BO]: it draws from the selected points, which are often fewer
    # than u r_j.
    yield "selected", X[selected]
    others = np.setdiff1d(np.arange(len(X)), selected)
    yield "population", preference.likely(X[rng.permutation(others)])
    size = max(count, BROOD)
    for _ in range(ROUNDS):
        mothers, fathers = rng.integers(len(X), size=(2, size))
        children = breed(variables, X[mothers], X[fathers], rng)
        yield "offspring", preference.likely(children)
    for points in filling(variables, size, rng):
        yield "latin", preference.likely(points)
    if preference.feasibility is None:
        return
    yield "population", X[preference.most_probable_first(X)]
    for points in filling(variables, size, rng):
        yield "latin", points[preference.most_probable_first(points)]
