"""The search on predicted means: the best individuals of every direction and worth
survive.

| symbol | here       | meaning                                            |
|--------|------------|----------------------------------------------------|
| W      | `W` (K, m) | directions                                         |
| F      | `F` (N, m) | predicted objectives, scaled                       |
"""

from collections.abc import Callable

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.problem import Variable
from app.optimizer.search.operators import breed
from app.optimizer.search.requirements import pull_back
from app.optimizer.space import categories, snap
from app.optimizer.strategies.counterpoise.directions import winners, worths
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings

FAR = 1e6  # beyond all worths of scaled values


def evolve(
    variables: tuple[Variable, ...],
    predict: Callable[[Floats], Floats],
    X: Floats,
    F: Floats,
    W: Floats,
    settings: CounterpoiseSettings,
    rng: np.random.Generator,
    violation: Callable[[Floats], Floats] | None = None,
) -> Floats:
    """The final population (N, d) from X (n, d) with scaled values F.

    Only children are predicted. `violation`: of limits, (n,); individuals with any are
    behind all others in every direction.

    One generation costs the prediction of at most 150 points and O((N + 150) K m).
    """
    size = min(len(W), settings.brood)
    if len(W) < settings.smallest_population // 2:
        size = settings.smallest_population

    def worth_of(X: Floats, F: Floats) -> Floats:
        found = worths(F, W, settings)
        if violation is None:
            return found
        c = violation(X)  # (N,)
        return np.where(c > 0.0, -FAR - c, found)

    worth = worth_of(X, F)  # (2K, N)
    for generation in range(settings.generations):
        brood = children(variables, X, size, settings, rng)
        X = np.vstack([X, brood])
        worth = np.hstack([worth, worth_of(brood, predict(brood))])
        is_last = generation == settings.generations - 1
        survivors = winners(worth, kept_per_direction(len(W), is_last, settings))
        X, worth = X[survivors], worth[:, survivors]
    return np.unique(X, axis=0)


def kept_per_direction(K: int, is_last: bool, settings: CounterpoiseSettings) -> int:
    """With few directions the population would die out, so more individuals of each are
    kept.
    """
    enough = -(-settings.smallest_population // (2 * K))
    return max(1 if is_last else settings.kept, enough)


def children(
    variables: tuple[Variable, ...],
    X: Floats,
    count: int,
    settings: CounterpoiseSettings,
    rng: np.random.Generator,
) -> Floats:
    """Children of random pairs by crossover and mutation, some of them moved to bounds;
    (count, d), feasible.
    """
    pairs = -(-count // 2)
    parents = rng.integers(len(X), size=(2, pairs))
    brood = breed(variables, X[parents[0]], X[parents[1]], rng)[:count]
    moved = set_one_to_bound(brood, settings.one_to_bound, rng)
    moved = move_near_to_bounds(moved, settings, rng)
    for block in categories(variables):  # choices have no bounds
        moved[:, block] = brood[:, block]
    return pull_back(variables, snap(variables, moved), brood)


def set_one_to_bound(X: Floats, probability: float, rng: np.random.Generator) -> Floats:
    """With this probability per row, one random variable becomes 0 or 1."""
    n, d = X.shape
    chosen = np.flatnonzero(rng.random(n) < probability)
    moved = X.copy()
    moved[chosen, rng.integers(d, size=len(chosen))] = rng.integers(2, size=len(chosen))
    return moved


def move_near_to_bounds(
    X: Floats, settings: CounterpoiseSettings, rng: np.random.Generator
) -> Floats:
    """With some probability per row, variables near a bound are moved to it, each with
    a probability of its own.
    """
    chosen = rng.random(len(X)) < settings.near_to_bound  # (n,)
    moved = chosen[:, None] & (rng.random(X.shape) < settings.moved)  # (n, d)
    to_low = moved & np.less(X, settings.near)
    to_high = moved & np.greater(X, 1.0 - settings.near)
    return np.where(to_low, 0.0, np.where(to_high, 1.0, X))
