"""Caution: by how many deviations predictions must keep the limits."""

import numpy as np
import pytest

from app.optimizer.problem import Constraint, Objective, Problem, Variable
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.counterpoise.caution import caution_of
from app.optimizer.strategies.counterpoise.settings import DEFAULTS

PROBLEM = Problem(
    (Variable("x", 0.0, 1.0),),
    (Objective("f"),),
    (1.0, 1.0),
    constraints=(Constraint("g", upper=0.0),),
)


def told(search: list[float], design: int = 4) -> Snapshot:
    """Samples of a design that breaks the limit, then one of each step."""
    g = np.array([1.0] * design + search)
    X = np.linspace(0.0, 1.0, len(g))[:, None]
    steps = np.append(np.zeros(design, dtype=int), np.arange(len(search)) + 1)
    F = np.column_stack([X[:, 0], g])
    order = np.random.default_rng(0).permutation(len(g))
    return Snapshot(
        20, len(g), 60, 3, X[order], F[order], full_steps=steps[order].astype(np.int64)
    )


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ([1.0] * 5, 0.0),  # too few to decide
        ([-1.0] * 8, 0.0),
        ([-1.0] * 5 + [1.0], 6.0 * 1 / 6),
        ([1.0] * 12, 2.0),  # at most
        # The newest 15 count: 3 of them break the limit
        ([1.0] * 20 + [-1.0] * 12 + [1.0] * 3, 6.0 * 3 / 15),
    ],
)
def test_caution_follows_the_newest_samples_of_the_search(
    search: list[float], expected: float
) -> None:
    assert caution_of(PROBLEM, told(search), DEFAULTS) == pytest.approx(expected)
