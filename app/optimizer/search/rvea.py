"""The reference vector guided evolutionary algorithm (Cheng et al. 2016, [RVEA]) on
predicted objectives.

| symbol  | here             | meaning                                                            |
|---------|------------------|--------------------------------------------------------------------|
| V_0, V  | `V0`, `V` (K, m) | reference vectors of length 1, as made and as adapted              |
| F'      | `F` (N, m)       | objectives, translated by the population's minimum                 |
| gamma_v | `gamma` (K,)     | smallest angle between v and another vector                        |
| theta   | `theta`          | weight of the angle: (t / t_max)^2                                 |
| w_max   | `w_max`          | generations                                                        |
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Variables
from app.optimizer.search.operators import breed

Violation = Callable[[Floats], Floats]  # (n, D) -> (n,), 0 where all limits are kept

ADAPT_EVERY = 0.1  # of the generations
SMALLEST_ANGLE = 1e-6
# of the largest: an objective without a range of its own must not remove a dimension
SMALLEST_RANGE = 1e-6


def evolve(
    variables: Variables,
    predict: Callable[[Floats], Floats],
    X: Floats,
    V0: Floats,
    adapted: Floats,
    w_max: int,
    rng: Generator,
    violation: Violation | None = None,
) -> tuple[Floats, Floats]:
    """The population after w_max generations from X, and its predicted objectives.

    Only offspring are predicted. `violation`: the total predicted violation of limits.
    """
    F = predict(X)  # (N, m)
    c = None if violation is None else violation(X)  # (N,)
    V = V0
    every = math.ceil(ADAPT_EVERY * w_max)
    for w in range(1, w_max + 1):
        children = offspring(variables, X, rng)
        X = np.vstack([X, children])
        F = np.vstack([F, predict(children)])
        if c is not None and violation is not None:
            c = np.append(c, violation(children))
        survivors = select(F, V, (w / w_max) ** 2, c)
        X, F = X[survivors], F[survivors]
        c = None if c is None else c[survivors]
        if w % every == 0:
            V = adapted
    return X, F


def offspring(variables: Variables, X: Floats, rng: Generator) -> Floats:
    """One child per individual, of random pairs, (N, d)."""
    pairs = -(-len(X) // 2)
    order = rng.permutation(len(X))
    # Completes the last pair of an odd number
    order = np.append(order, rng.integers(len(X)))
    mothers, fathers = X[order[:pairs]], X[order[pairs : 2 * pairs]]
    return breed(variables, mothers, fathers, rng)[: len(X)]


def select(F: Floats, V: Floats, theta: float, violation: Floats | None = None) -> Ints:
    """For each vector that has any row, the one of smallest angle-penalised distance,
    in the order of the vectors.

    `violation` (N,): a row without any is before all others, and these compete by it.
    """
    nearest, distance = associate(F, V, theta)
    order = np.lexsort((distance, nearest))
    if violation is not None:
        # [RVEA] IV-A: 0 of feasible rows, so that these compete by distance
        order = np.lexsort((distance, violation, nearest))
    _, first = np.unique(nearest[order], return_index=True)
    return order[first]


def associate(F: Floats, V: Floats, theta: float) -> tuple[Ints, Floats]:
    """The vector of smallest angle to each row, and its angle-penalised distance; both
    (N,).
    """
    F = F - F.min(axis=0)
    m = F.shape[1]
    length = np.linalg.norm(F, axis=1)  # (N,)
    divisor = np.maximum(length, np.finfo(float).tiny)
    cosine = (F @ V.T) / divisor[:, None]  # (N, K)
    nearest = cosine.argmax(axis=1)  # (N,)
    largest_cosine = cosine[np.arange(len(F)), nearest]
    angle = np.arccos(np.clip(largest_cosine, -1.0, 1.0))  # (N,)
    gamma = separation(V)[nearest]  # (N,)
    distance = (1.0 + m * theta * angle / gamma) * length  # [RVEA]: APD
    return nearest, distance


def separation(V: Floats) -> Floats:
    """gamma of every vector, (K,)."""
    cosine = V @ V.T  # (K, K)
    np.fill_diagonal(cosine, -1.0)
    largest = np.clip(cosine.max(axis=1), -1.0, 1.0)
    return np.asarray(np.maximum(np.arccos(largest), SMALLEST_ANGLE))


def adapt(V0: Floats, spread: Floats) -> Floats:
    """V_0 stretched by the range (m,) of the observed objectives, and brought back to
    length 1.
    """
    # Differs from [RVEA]: there the range is the population's; the authors of [SBP-BO]
    # have both, this one did better.
    largest = spread.max()
    V = V0
    if largest > 0.0:
        V = V0 * np.maximum(spread / largest, SMALLEST_RANGE)
    return np.asarray(V / np.linalg.norm(V, axis=1, keepdims=True))
