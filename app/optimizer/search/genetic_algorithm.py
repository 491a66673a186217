"""A single-objective genetic algorithm: the streams of cheap objectives, and the search
when there is one objective.

| symbol | here     | meaning                                                        |
|--------|----------|----------------------------------------------------------------|
| mu     | `MU`     | individuals that can become parents                            |
| lambda | `LAMBDA` | children of a generation                                       |
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator

from app.domain.planning.stepping import LAMBDA
from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Problem, Variables
from app.optimizer.search.design import filling
from app.optimizer.search.novelty import take_new
from app.optimizer.search.operators import breed
from app.optimizer.snapshot import Data

MU = 50
# generations bred in search of new points before the rest is filled with Latin
# hypercubes
ROUNDS = 5


def next_generation(
    problem: Problem, data: Data, ids: Ints, size: int, rng: Generator, taken: Floats
) -> Floats:
    """New points for one cheap objective, (size, d), from all values told so far; fewer
    only if the space has no more.

    The parents are a pure function of these values, so a stream can be continued at any
    time.
    """
    order = np.lexsort((ids, data.y))  # ties by sample id
    parents = data.X[order][:MU]  # (mu, d)
    known = np.vstack([taken, data.X])
    sources = (("", X) for X in _candidates(problem.variables, parents, size, rng))
    X, _ = take_new(sources, size, known)
    return X


def minimise(
    variables: Variables,
    predict: Callable[[Floats], Floats],
    X: Floats,
    generations: int,
    rng: Generator,
    violation: Callable[[Floats], Floats] | None = None,
) -> tuple[Floats, Floats]:
    """The mu best points found from X and their predicted values (N, 1), best first;
    those of smaller violation, (n,), before all others.
    """

    def keys_of(X: Floats) -> Floats:
        """(N, 2): violation, then value"""
        F = predict(X)
        c = np.zeros(len(X)) if violation is None else violation(X)
        return np.column_stack([c, F[:, 0]])

    keys = keys_of(X)
    for _ in range(generations):
        X, keys = _best(X, keys)
        children = children_of(variables, X, LAMBDA, rng)
        X = np.vstack([X, children])
        keys = np.vstack([keys, keys_of(children)])
    X, keys = _best(X, keys)
    return X, keys[:, 1:]


def children_of(
    variables: Variables, parents: Floats, count: int, rng: Generator
) -> Floats:
    """Children of the winners of binary tournaments among the parents, (mu, d), best
    first; (count, d).
    """
    pairs = -(-count // 2)
    players = rng.integers(len(parents), size=(2, pairs, 2))
    winners = players.min(axis=2)  # (2, pairs)
    children = breed(variables, parents[winners[0]], parents[winners[1]], rng)
    return children[:count]


def _candidates(
    variables: Variables, parents: Floats, size: int, rng: Generator
) -> Iterator[Floats]:
    if len(parents) > 0:
        for _ in range(ROUNDS):
            yield children_of(variables, parents, size, rng)
    yield from filling(variables, size, rng)


def _best(X: Floats, keys: Floats) -> tuple[Floats, Floats]:
    """The mu best, without copies: those of the best would soon fill the population."""
    _, distinct = np.unique(X, axis=0, return_index=True)
    order = np.lexsort((keys[distinct, 1], keys[distinct, 0]))
    best = distinct[order][:MU]
    return X[best], keys[best]
