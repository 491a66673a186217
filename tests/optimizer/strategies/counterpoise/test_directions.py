"""Directions, the two worths, and who wins a direction; values by hand."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.strategies.counterpoise.directions import (
    corner_worth,
    directions,
    pbi_worth,
    ray_worth,
    winners,
    worths,
)
from app.optimizer.strategies.counterpoise.settings import DEFAULTS

F = np.array([[0.1, 0.6], [0.6, 0.1]])
W = np.array([[0.5, 0.5], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("m", "count"), [(1, 1), (2, 100), (3, 105), (5, 126), (10, 275)]
)
def test_directions_are_weights_that_sum_to_one(m: int, count: int) -> None:
    found = directions(m, DEFAULTS)
    assert found.shape == (count, m)
    assert_allclose(found.sum(axis=1), 1.0)
    assert (found >= 0.0).all()


def test_a_ray_ends_where_the_first_objective_stops_it() -> None:
    # (1.1 - 0.1) / 0.5 = 2 and (1.1 - 0.6) / 0.5 = 1; with weight 0 the second
    # objective counts with 0.001.
    assert_allclose(ray_worth(F, W, DEFAULTS), [[1.0, 1.0], [1.0, 0.5]])


def test_pbi_adds_the_distance_along_and_five_times_the_distance_across() -> None:
    along, across = 0.7 / np.sqrt(2.0), 0.5 / np.sqrt(2.0)
    diagonal = -(along + 5.0 * across)
    assert_allclose(
        pbi_worth(F, W, DEFAULTS), [[diagonal, diagonal], [-(0.1 + 3.0), -(0.6 + 0.5)]]
    )


def test_a_corner_ignores_one_objective() -> None:
    assert_allclose(
        corner_worth(np.array([[3.0, 4.0, 12.0], [9.0, 0.0, 0.0]])),
        [
            [-np.hypot(4.0, 12.0), 0.0],
            [-np.hypot(3.0, 12.0), -9.0],
            [-5.0, -9.0],
        ],
    )


def test_worths_of_all_kinds_are_stacked() -> None:
    both = np.vstack([ray_worth(F, W, DEFAULTS), pbi_worth(F, W, DEFAULTS)])
    assert_array_equal(worths(F, W, replace(DEFAULTS, corners=False)), both)
    with_corners = worths(F, W, replace(DEFAULTS, corners=True))
    assert_array_equal(with_corners, np.vstack([both, corner_worth(F)]))


def test_winners_are_the_best_of_any_direction() -> None:
    worth = np.array([[3.0, 2.0, 1.0, 0.0], [3.0, 0.0, 2.0, 1.0]])
    assert_array_equal(winners(worth, 1), [0])
    assert_array_equal(winners(worth, 2), [0, 1, 2])
    assert_array_equal(winners(worth, 9), [0, 1, 2, 3])
