"""The scale of the front, and dominance."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.strategies.counterpoise.scale import (
    dominated_by,
    front_scale,
    nondominated,
)


def test_the_front_spans_zero_to_one() -> None:
    F = np.array([[1.0, 40.0], [3.0, 20.0], [9.0, 90.0]])  # the last is dominated
    scale = front_scale(F, smallest_range=0.05)
    assert_allclose(scale.apply(F), [[0.0, 1.0], [1.0, 0.0], [4.0, 3.5]])
    assert_allclose(scale.apply_deviation(np.array([[1.0, 1.0]])), [[0.5, 0.05]])


def test_a_front_range_too_small_is_replaced_by_the_range_of_the_data() -> None:
    # The front's range of the first is 4 % of the data's
    F = np.array([[0.0, 1.0], [0.4, 0.0], [10.0, 3.0]])
    assert_allclose(front_scale(F, smallest_range=0.05).size, [10.0, 1.0])
    assert_allclose(front_scale(F, smallest_range=0.03).size, [0.4, 1.0])


def test_a_constant_objective_is_zero_on_the_scale() -> None:
    F = np.array([[0.0, 7.0], [1.0, 7.0]])
    assert_allclose(front_scale(F, smallest_range=0.05).apply(F)[:, 1], 0.0)


def test_objectives_of_one_unit_are_divided_by_the_largest_range() -> None:
    # Ranges of the front: 2, 20 and, constant, none
    F = np.array([[1.0, 40.0, 500.0], [3.0, 20.0, 500.0]])
    scale = front_scale(F, smallest_range=0.05, common_unit=True)
    assert_allclose(scale.apply(F), [[0.0, 1.0, 0.0], [0.1, 0.0, 0.0]])
    constant = front_scale(F[:1], smallest_range=0.05, common_unit=True)
    assert_allclose(constant.apply(F[:1]), 0.0)


def test_one_objective_is_scaled_by_the_data() -> None:
    F = np.array([[5.0], [2.0], [12.0]])
    scale = front_scale(F, smallest_range=0.05)
    assert_allclose([scale.low, scale.size], [[2.0], [10.0]])


def test_nondominated_keeps_equal_rows() -> None:
    assert_array_equal(
        nondominated(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 2.0], [0.0, 3.0]])),
        [1, 1, 0, 1],
    )
    assert_array_equal(nondominated(np.array([[2.0], [1.0], [1.0]])), [0, 1, 1])
    assert len(nondominated(np.empty((0, 3)))) == 0


def test_dominated_by_needs_one_row_that_is_better_somewhere_and_worse_nowhere() -> (
    None
):
    A = np.array([[0.0, 1.0], [1.0, 0.0]])
    F = np.array([[0.0, 1.0], [0.0, 2.0], [0.5, 0.5], [2.0, 2.0]])
    assert_array_equal(dominated_by(F, A), [0, 1, 0, 1])
