"""Children with moves to the bounds, and the search's survivors."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.problem import Problem
from app.optimizer.space import snap
from app.optimizer.strategies.counterpoise.directions import directions
from app.optimizer.strategies.counterpoise.search import (
    children,
    evolve,
    kept_per_direction,
    move_near_to_bounds,
    set_one_to_bound,
)
from app.optimizer.strategies.counterpoise.settings import DEFAULTS

MakeProblem = Callable[..., Problem]
RNG = np.random.default_rng


def test_one_variable_of_every_chosen_row_is_set_to_a_bound() -> None:
    X = np.full((200, 4), 0.5)
    moved = set_one_to_bound(X, 1.0, RNG(0))
    assert_array_equal((moved != 0.5).sum(axis=1), 1)
    assert set(np.unique(moved)) == {0.0, 0.5, 1.0}
    assert_array_equal(set_one_to_bound(X, 0.0, RNG(0)), X)


def test_only_variables_near_a_bound_are_moved_to_it() -> None:
    X = np.tile([0.05, 0.5, 0.95, 0.2], (100, 1))
    always = replace(DEFAULTS, near_to_bound=1.0, moved=1.0)
    assert_array_equal(
        move_near_to_bounds(X, always, RNG(0)), np.tile([0.0, 0.5, 1.0, 0.2], (100, 1))
    )
    assert_array_equal(
        move_near_to_bounds(X, replace(always, near_to_bound=0.0), RNG(0)), X
    )
    some = move_near_to_bounds(X, replace(always, moved=0.7), RNG(0))
    assert 0.5 < (some[:, 0] == 0.0).mean() < 0.9


def test_children_are_feasible(make_problem: MakeProblem) -> None:
    problem = make_problem(4, integer_levels=(3,))
    X = snap(problem.variables, RNG(1).random((6, 4)))
    brood = children(problem.variables, X, 31, DEFAULTS, RNG(0))
    assert brood.shape == (31, 4)
    assert_array_equal(snap(problem.variables, brood), brood)


@pytest.mark.parametrize(
    ("K", "is_last", "kept"),
    [(105, False, 2), (105, True, 1), (1, False, 50), (1, True, 50)],
)
def test_more_are_kept_where_there_are_few_directions(
    K: int, is_last: bool, kept: int
) -> None:
    assert kept_per_direction(K, is_last, DEFAULTS) == kept


def test_the_search_finds_a_front(make_problem: MakeProblem) -> None:
    """f = (x_1 + g, 1 - x_1 + g), g = x_2 + x_3: the front is x_2 = x_3 = 0, f_1 + f_2
    = 1.
    """
    problem = make_problem(3)

    def predict(X: Floats) -> Floats:
        g = X[:, 1:].sum(axis=1)
        return np.stack([X[:, 0] + g, 1.0 - X[:, 0] + g], axis=1)

    X = RNG(0).random((20, 3))
    found = predict(
        evolve(
            problem.variables,
            predict,
            X,
            predict(X),
            directions(2, DEFAULTS),
            DEFAULTS,
            RNG(1),
        )
    )
    assert_allclose(found.sum(axis=1), 1.0, atol=0.05)
    assert np.ptp(found[:, 0]) > 0.95


def test_one_objective_is_minimised(make_problem: MakeProblem) -> None:
    problem = make_problem(3, ratios=(1.0,))

    def predict(X: Floats) -> Floats:
        return np.asarray(((X - 0.3) ** 2).sum(axis=1, keepdims=True))

    X = RNG(0).random((20, 3))
    found = evolve(
        problem.variables,
        predict,
        X,
        predict(X),
        directions(1, DEFAULTS),
        DEFAULTS,
        RNG(1),
    )
    assert predict(found).min() < 1e-3
