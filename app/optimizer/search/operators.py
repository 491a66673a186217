"""Variation on the unit cube: simulated binary crossover and polynomial mutation, with
rules for integers and categories.

| symbol | here       | meaning                                                                |
|--------|------------|------------------------------------------------------------------------|
| eta    | `ETA`      | distribution index of both operators: the larger, the nearer the child |
| p_c    | –          | 1: every pair is crossed, each variable of it with probability 1/2     |
| p_m    | –          | 1/d: one variable of a child is mutated on average                     |
"""

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.problem import Variables, requirements_of
from app.optimizer.search.requirements import pull_back, satisfied
from app.optimizer.space import categories, indicator, integers, level_of, snap

ETA = 20.0


def breed(variables: Variables, A: Floats, B: Floats, rng: Generator) -> Floats:
    """Two feasible children of each pair (A_i, B_i), (2n, D): first one of each pair,
    then the other.

    They satisfy the requirements if one of their parents does; else they are parents.
    """
    children = np.vstack(cross(A, B, rng, variables))
    children = mutate(variables, children, rng)
    if not requirements_of(variables):
        return children
    firsts, seconds = np.vstack([A, B]), np.vstack([B, A])
    keeps = satisfied(variables, firsts)
    return pull_back(variables, children, np.where(keeps[:, None], firsts, seconds))


def cross(
    A: Floats, B: Floats, rng: Generator, variables: Variables = ()
) -> tuple[Floats, Floats]:
    """Simulated binary crossover of the pairs (A_i, B_i), each (n, D); children can
    leave the cube. A category is inherited from either parent.
    """
    u = rng.random(A.shape)
    contracting, expanding = 2 * u, 1 / (2 - 2 * u)
    beta = np.where(u <= 0.5, contracting, expanding) ** (1 / (ETA + 1))
    # Decides per variable which child gets which value
    beta *= rng.choice([-1.0, 1.0], size=A.shape)
    crossed = rng.random(A.shape) < 0.5
    middle, half = (A + B) / 2, (A - B) / 2
    first = np.where(crossed, middle + beta * half, A)
    second = np.where(crossed, middle - beta * half, B)
    for block in categories(variables):
        swapped = crossed[:, block.start, None]
        first[:, block] = np.where(swapped, B[:, block], A[:, block])
        second[:, block] = np.where(swapped, A[:, block], B[:, block])
    return first, second


def mutate(variables: Variables, X: Floats, rng: Generator) -> Floats:
    """Polynomial mutation of one variable in d; a mutated integer gets a random level,
    a category a random choice.

    (n, D), inside the cube.
    """
    # Differs from [SBP-BO]: it has no integers. A small step would mostly be rounded
    # away.
    X = snap(variables, X)
    chosen = rng.random(X.shape) < 1 / len(variables)
    u = rng.random(X.shape)
    mutated = X + _polynomial_step(X, u)
    for k in integers(variables):
        mutated[:, k] = u[:, k]  # uniform on [0, 1]; snap makes it a level
    for block in categories(variables):
        count = block.stop - block.start
        mutated[:, block] = indicator(level_of(u[:, block.start], count), count)
        chosen[:, block] = chosen[:, block.start, None]
    return snap(variables, np.where(chosen, mutated, X))


def _polynomial_step(X: Floats, u: Floats) -> Floats:
    """Deb's bounded polynomial mutation: steps that never leave [0, 1]."""
    power = ETA + 1
    below = 2 * u + (1 - 2 * u) * (1 - X) ** power
    above = 2 - 2 * u + (2 * u - 1) * X**power
    down = below ** (1 / power) - 1
    up = 1 - np.maximum(above, 0.0) ** (1 / power)
    return np.where(u <= 0.5, down, up)
