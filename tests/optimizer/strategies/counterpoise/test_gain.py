"""Distances, gain and greedy choice; values by hand."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.strategies.counterpoise.directions import directions
from app.optimizer.strategies.counterpoise.gain import (
    candidate_distances,
    choose_targets,
    current_distance,
    distance_plus,
    greedy,
    normal_draws,
)
from app.optimizer.strategies.counterpoise.settings import DEFAULTS

RNG = np.random.default_rng
Z = np.array([[0.0, 1.0], [1.0, 0.0]])


def test_distance_plus_counts_only_where_a_value_is_worse() -> None:
    F = np.array([[3.0, 5.0], [0.5, 0.0], [0.0, 1.0]])
    assert_allclose(
        distance_plus(F, Z), [[5.0, np.hypot(2.0, 5.0)], [0.5, 0.0], [0.0, 1.0]]
    )


def test_current_distance_is_that_of_the_nearest_sample() -> None:
    F = np.array([[3.0, 5.0], [0.5, 0.0]])
    assert_allclose(current_distance(F, Z, draws=2), [[0.5, 0.0], [0.5, 0.0]])


def test_draws_are_standard_normal_and_shared_by_a_seed() -> None:
    draws = normal_draws(16, 3, RNG(0))
    assert draws.shape == (16, 3)
    assert_allclose(draws.mean(axis=0), 0.0, atol=0.1)
    assert_allclose(draws.std(axis=0), 1.0, atol=0.2)
    assert_array_equal(draws, normal_draws(16, 3, RNG(0)))


def test_a_known_objective_is_the_same_in_every_draw() -> None:
    mean, deviation = np.array([[0.5, 0.2]]), np.array([[0.0, 0.1]])
    draws = np.array([[7.0, -1.0], [-7.0, 2.0]])
    expected = [[np.hypot(0.5, 0.0), 0.1], [0.5, 0.4]]
    assert_allclose(candidate_distances(mean, deviation, draws, Z)[:, 0], expected)


def test_greedy_takes_the_largest_gain_and_lowers_the_distance_by_it() -> None:
    # One draw, two targets at distance 1. Gains: 0.75 / 2; (0.5 + 0.5) / 2; 0.9 / 2.
    distances = np.array([[[0.25, 1.0], [0.5, 0.5], [1.0, 0.1]]])
    choice = greedy(distances, np.ones((1, 2)), count=3)
    assert_array_equal(choice.rows, [1, 2, 0])
    assert_allclose(choice.gains, [0.5, 0.2, 0.125])
    assert_allclose(choice.current, [[0.25, 0.1]])


def test_greedy_stops_when_no_gain_is_left() -> None:
    choice = greedy(np.ones((1, 3, 2)), np.ones((1, 2)), count=2)
    assert len(choice.rows) == 0
    assert len(greedy(np.ones((4, 0, 2)), np.ones((4, 2)), count=2).rows) == 0


def test_targets_are_nondominated_distinct_and_few() -> None:
    F = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    W = directions(2, DEFAULTS)
    assert_array_equal(
        choose_targets(F, W, DEFAULTS, RNG(0)), [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    )
    assert choose_targets(F, W, replace(DEFAULTS, targets=2), RNG(0)).shape == (2, 2)


def test_targets_win_a_direction() -> None:
    t = np.linspace(0.0, 1.0, 101)
    F = np.stack([t, 1.0 - t], axis=1)
    W = np.array([[0.5, 0.5]])
    winning = replace(DEFAULTS, targets_win=True, corners=True)
    ends_and_middle = choose_targets(F, W, winning, RNG(0))
    assert_allclose(ends_and_middle, [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    assert (
        len(choose_targets(F, W, replace(DEFAULTS, targets_win=False), RNG(0))) == 101
    )
