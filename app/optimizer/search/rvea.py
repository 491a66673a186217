"""The reference vector guided evolutionary algorithm (Cheng et al. 2016, [RVEA]) on predicted objectives.

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

from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Variable
from app.optimizer.search.operators import breed

ADAPT_EVERY = 0.1  # of the generations
SMALLEST_ANGLE = 1e-6
SMALLEST_RANGE = 1e-6  # of the largest: an objective without a range of its own must not remove a dimension


def evolve(
    variables: tuple[Variable, ...],
    predict: Callable[[Floats], Floats],
    X: Floats,
    V0: Floats,
    adapted: Floats,
    w_max: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """The population after w_max generations from X, and its predicted objectives. Only offspring are predicted."""
    F = predict(X)  # (N, m)
    V = V0
    every = math.ceil(ADAPT_EVERY * w_max)
    for w in range(1, w_max + 1):
        children = offspring(variables, X, rng)
        X, F = np.vstack([X, children]), np.vstack([F, predict(children)])
        survivors = select(F, V, (w / w_max) ** 2)
        X, F = X[survivors], F[survivors]
        if w % every == 0:
            V = adapted
    return X, F


def offspring(variables: tuple[Variable, ...], X: Floats, rng: np.random.Generator) -> Floats:
    """One child per individual, of random pairs, (N, d)."""
    pairs = -(-len(X) // 2)
    order = np.append(rng.permutation(len(X)), rng.integers(len(X)))  # the last one fills up an odd number
    return breed(variables, X[order[:pairs]], X[order[pairs : 2 * pairs]], rng)[: len(X)]


def select(F: Floats, V: Floats, theta: float) -> Ints:
    """For each vector that has any row, the one of smallest angle-penalised distance, in the order of the vectors."""
    F = F - F.min(axis=0)
    length = np.linalg.norm(F, axis=1)  # (N,)
    cosine = (F @ V.T) / np.maximum(length, np.finfo(float).tiny)[:, None]  # (N, K)
    nearest = cosine.argmax(axis=1)  # (N,)
    angle = np.arccos(np.clip(cosine[np.arange(len(F)), nearest], -1.0, 1.0))  # (N,)
    distance = (1.0 + F.shape[1] * theta * angle / separation(V)[nearest]) * length  # [RVEA]: APD
    order = np.lexsort((distance, nearest))
    _, first = np.unique(nearest[order], return_index=True)
    return order[first]


def separation(V: Floats) -> Floats:
    """gamma of every vector, (K,)."""
    cosine = V @ V.T  # (K, K)
    np.fill_diagonal(cosine, -1.0)
    return np.asarray(np.maximum(np.arccos(np.clip(cosine.max(axis=1), -1.0, 1.0)), SMALLEST_ANGLE))


def adapt(V0: Floats, spread: Floats) -> Floats:
    """V_0 stretched by the range (m,) of the observed objectives, and brought back to length 1."""
    # Differs from [RVEA]: there the range is the population's; the authors of [SBP-BO] have both, this one did better.
    largest = spread.max()
    V = V0 * np.maximum(spread / largest, SMALLEST_RANGE) if largest > 0.0 else V0
    return np.asarray(V / np.linalg.norm(V, axis=1, keepdims=True))
