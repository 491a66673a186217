"""Variables that matter to both objectives, chosen by a particle swarm ([T-SAEA]).

| symbol | here          | meaning                                                     |
|--------|---------------|-------------------------------------------------------------|
| S      | result (d,)   | the variables chosen                                        |
| c1, c2 | `PULL`        | attraction to a particle's own best and to the best of all  |
"""

import numpy as np
from numpy.random import Generator
from scipy.stats import rankdata

from app.optimizer.arrays import Bools, Floats

PARTICLES, ITERATIONS = 20, 30
INERTIA, PULL = 1.05, 2.0
THRESHOLD = 0.5
RELEVANCE, REDUNDANCY = 0.8, 0.2


def shared_variables(X: Floats, F: Floats, rng: Generator) -> Bools:
    """Which columns of X (n, d) matter to both columns of F (n, 2)."""
    relevance, redundancy = correlations(X, F)
    position = rng.random((PARTICLES, X.shape[1]))
    velocity = np.zeros_like(position)
    best, best_cost = position.copy(), costs(position, relevance, redundancy)
    for _ in range(ITERATIONS):
        leader = best[best_cost.argmin()]
        to_best, to_leader = rng.random((2, *position.shape))
        velocity = (
            INERTIA * velocity
            + PULL * to_best * (best - position)
            + PULL * to_leader * (leader - position)
        )
        # Inertia above 1 lets velocities grow without limit
        velocity = np.clip(velocity, -1.0, 1.0)
        position = np.clip(position + velocity, 0.0, 1.0)
        cost = costs(position, relevance, redundancy)
        better = cost < best_cost
        best[better], best_cost[better] = position[better], cost[better]
    return np.asarray(best[best_cost.argmin()] > THRESHOLD)


def correlations(X: Floats, F: Floats) -> tuple[Floats, Floats]:
    """How much each variable matters to both objectives (d,), and absolute rank
    correlations of the variables with each other (d, d).
    """
    # Differs from [T-SAEA]: it does not name its measure; these are rank correlations.
    ranks = rankdata(np.hstack([X, F]), axis=0)
    ranks -= ranks.mean(axis=0)
    length = np.linalg.norm(ranks, axis=0)
    ranks /= np.where(length > 0.0, length, 1.0)
    R = np.abs(ranks.T @ ranks)
    d = X.shape[1]
    return R[:d, d:].min(axis=1), R[:d, :d]


def costs(position: Floats, relevance: Floats, redundancy: Floats) -> Floats:
    """-0.8 mean relevance + 0.2 mean redundancy of each particle's variables, (N,)."""
    chosen = (position > THRESHOLD).astype(np.float64)  # (N, d)
    count = chosen.sum(axis=1)
    relevant = chosen @ relevance / np.maximum(count, 1.0)
    between = np.einsum("nk,kl,nl->n", chosen, redundancy, chosen)
    own = chosen @ np.diag(redundancy)
    pairs = count * (count - 1.0)
    redundant = (between - own) / np.maximum(pairs, 1.0)
    cost = -RELEVANCE * relevant + REDUNDANCY * redundant
    return np.where(count > 0.0, cost, np.inf)
