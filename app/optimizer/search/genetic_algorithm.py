"""A single-objective genetic algorithm: the streams of cheap objectives, and the search when there is one objective.

| symbol | here     | meaning                                                        |
|--------|----------|----------------------------------------------------------------|
| mu     | `MU`     | individuals that can become parents                            |
| lambda | `LAMBDA` | children of a generation                                       |
"""

from collections.abc import Callable, Iterator

import numpy as np

from app.domain.stepping import LAMBDA
from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Problem, Variable
from app.optimizer.search.design import filling
from app.optimizer.search.novelty import take_new
from app.optimizer.search.operators import breed
from app.optimizer.snapshot import Data

MU = 50
ROUNDS = 5  # generations bred in search of new points before the rest is filled with Latin hypercubes


def next_generation(
    problem: Problem, data: Data, ids: Ints, size: int, rng: np.random.Generator, taken: Floats
) -> Floats:
    """New points for one cheap objective, (size, d), from all values told so far; fewer only if the space has no more.

    The parents are a pure function of what was told, so a stream can be taken up again at any time.
    """
    best = data.X[np.lexsort((ids, data.y))][:MU]  # (mu, d), ties by sample id
    known = np.vstack([taken, data.X])
    X, _ = take_new((("", X) for X in _candidates(problem.variables, best, size, rng)), size, known)
    return X


def minimise(
    variables: tuple[Variable, ...],
    predict: Callable[[Floats], Floats],
    X: Floats,
    generations: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """The mu best points found from X and their predicted values (N, 1), best first."""
    F = predict(X)  # (N, 1)
    for _ in range(generations):
        X, F = _best(X, F)
        children = children_of(variables, X, LAMBDA, rng)
        X, F = np.vstack([X, children]), np.vstack([F, predict(children)])
    return _best(X, F)


def children_of(variables: tuple[Variable, ...], best: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Children of the winners of binary tournaments among `best`, (mu, d), best first; (count, d)."""
    pairs = -(-count // 2)
    winners = rng.integers(len(best), size=(2, pairs, 2)).min(axis=2)  # (2, pairs)
    return breed(variables, best[winners[0]], best[winners[1]], rng)[:count]


def _candidates(variables: tuple[Variable, ...], best: Floats, size: int, rng: np.random.Generator) -> Iterator[Floats]:
    for _ in range(ROUNDS if len(best) > 0 else 0):
        yield children_of(variables, best, size, rng)
    yield from filling(variables, size, rng)


def _best(X: Floats, F: Floats) -> tuple[Floats, Floats]:
    """The mu best, each once: copies of the best would soon be all there is."""
    _, distinct = np.unique(X, axis=0, return_index=True)
    order = distinct[np.argsort(F[distinct, 0], kind="stable")][:MU]
    return X[order], F[order]
