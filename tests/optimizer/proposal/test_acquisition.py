import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.proposal.acquisition import (
    Scaling,
    adaptive,
    no_penalty,
    search_bias_penalty,
    to_unit_range,
    variance_weight,
)


@pytest.mark.parametrize(
    ("settled", "alpha"),
    [(0, 0.0), (109, 0.2919), (150, 0.5), (200, 0.75), (300, 1.0), (400, 1.0)],
)
def test_weight_of_the_variance(settled: int, alpha: float) -> None:
    assert_allclose(variance_weight(settled, 300), alpha, atol=5e-5)


@pytest.mark.parametrize(
    ("step", "at_zero", "at_one"),
    [
        (1, [0.3125, 0.3125, 0.0833], [0.654, 0.654, 0.633]),
        (64, [0.967, 0.967, 0.853], [0.968, 0.968, 0.873]),
    ],
)
def test_penalty_of_the_table(
    step: int, at_zero: list[float], at_one: list[float]
) -> None:
    r = np.array([5.0, 5.0, 1.0])
    penalty = search_bias_penalty(np.array([[0.0] * 3, [1.0] * 3]), r, step)
    assert_allclose(penalty, [at_zero, at_one], atol=5e-4)


def test_mu_bar_spans_the_unit_interval_and_equal_means_are_zero() -> None:
    mu = np.array([[1.0, 7.0], [3.0, 7.0], [2.0, 7.0]])
    assert_array_equal(to_unit_range(mu), [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]])


def test_adaptive_acquisition_computed_by_hand() -> None:
    mu, v = np.array([[1.0, -2.0], [4.0, 2.0]]), np.array([[2.0, 0.0], [1.0, 0.0]])
    # mu / mu_max = (1/4, 1), the second column shifted by 2: (0, 1); v / v_max = (1,
    # 1/2), and 0 where all are 0.
    assert_allclose(
        adaptive(mu, v, 0.25, "paper"), [[0.75 / 4 + 0.25, 0.0], [0.75 + 0.125, 0.75]]
    )
    assert_allclose(adaptive(mu, v, 0.25, "range"), [[0.25, 0.0], [0.75 + 0.125, 0.75]])


@pytest.mark.parametrize("scaling", ["paper", "range"])
def test_columns_of_zeros_stay_finite(scaling: Scaling) -> None:
    assert_array_equal(
        adaptive(np.zeros((3, 2)), np.zeros((3, 2)), 0.5, scaling), np.zeros((3, 2))
    )


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_range_scaling_ignores_units_and_offsets(
    seed: int, unit: float, offset: float
) -> None:
    rng = np.random.default_rng(seed)
    mu, v = rng.random((9, 3)), rng.random((9, 3))
    assert_allclose(
        adaptive(unit * mu + offset, unit**2 * v, 0.4, "range"),
        adaptive(mu, v, 0.4, "range"),
        atol=1e-6,
    )


@given(st.integers(0, 10**6), st.integers(1, 500))
def test_penalty_stays_in_bounds_and_prefers_small_means_and_slow_objectives(
    seed: int, step: int
) -> None:
    rng = np.random.default_rng(seed)
    mu_bar = np.sort(rng.random((9, 1)), axis=0).repeat(2, axis=1)
    penalty = search_bias_penalty(mu_bar, np.array([5.0, 1.0]), step)
    assert ((penalty >= 0.0) & (penalty < 1.0)).all()
    assert (np.diff(penalty, axis=0) >= 0.0).all()
    assert (penalty[:, 0] > penalty[:, 1]).all()


def test_the_ablation_has_no_penalty() -> None:
    assert_array_equal(
        no_penalty(np.random.default_rng(0).random((4, 3)), np.ones(3), 7),
        np.ones((4, 3)),
    )
