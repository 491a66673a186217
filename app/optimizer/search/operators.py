"""Variation on the unit cube: simulated binary crossover and polynomial mutation, aware of integers.

| symbol | here       | meaning                                                                |
|--------|------------|------------------------------------------------------------------------|
| eta    | `ETA`      | distribution index of both operators: the larger, the nearer the child |
| p_c    | –          | 1: every pair is crossed, each variable of it with probability 1/2     |
| p_m    | –          | 1/d: one variable of a child is mutated on average                     |
"""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.problem import Variable
from app.optimizer.space import integers, snap

ETA = 20.0


def breed(variables: tuple[Variable, ...], A: Floats, B: Floats, rng: np.random.Generator) -> Floats:
    """Two feasible children of each pair (A_i, B_i), (2n, d): first one of each pair, then the other."""
    return mutate(variables, np.vstack(cross(A, B, rng)), rng)


def cross(A: Floats, B: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Simulated binary crossover of the pairs (A_i, B_i), each (n, d); children can leave the cube."""
    u = rng.random(A.shape)
    beta = np.where(u <= 0.5, 2 * u, 1 / (2 - 2 * u)) ** (1 / (ETA + 1))
    beta *= rng.choice([-1.0, 1.0], size=A.shape)  # which child gets which value is decided per variable
    crossed = rng.random(A.shape) < 0.5
    middle, half = (A + B) / 2, (A - B) / 2
    return np.where(crossed, middle + beta * half, A), np.where(crossed, middle - beta * half, B)


def mutate(variables: tuple[Variable, ...], X: Floats, rng: np.random.Generator) -> Floats:
    """Polynomial mutation of one variable in d; an integer's level is drawn anew. (n, d), feasible."""
    # Differs from [SBP-BO]: it has no integers. A small step would mostly be rounded away.
    X = snap(variables, X)
    chosen = rng.random(X.shape) < 1 / X.shape[1]
    u = rng.random(X.shape)
    mutated = X + _polynomial(X, u)
    for k in integers(variables):
        mutated[:, k] = u[:, k]  # uniform on [0, 1], so snap makes it a level
    return snap(variables, np.where(chosen, mutated, X))


def _polynomial(X: Floats, u: Floats) -> Floats:
    """Steps of Deb's bounded polynomial mutation in [0, 1], which never leave it."""
    power = ETA + 1
    down = (2 * u + (1 - 2 * u) * (1 - X) ** power) ** (1 / power) - 1
    up = 1 - np.maximum(2 - 2 * u + (2 * u - 1) * X**power, 0.0) ** (1 / power)
    return np.where(u <= 0.5, down, up)
