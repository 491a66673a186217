"""Priors, bounds and starts as ALGORITHM.md states them; records that keep every bit."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from app.optimizer.models.evidence.hyperparameters import (
    Hyperparameters,
    Structure,
    make_prior,
    own_groups,
    per_coordinate,
)


@pytest.mark.parametrize(
    ("structure", "means", "sds", "starts"),
    [
        (
            Structure.MATERN,
            [-0.5, -0.5, -2, -2],
            [2.5, 2.5, 2.5, 2.5],
            [-2.5, -2.5, -3, -3],
        ),
        (
            Structure.GAUSSIAN,
            [-0.5, -0.5, -2, -2],
            [2.5, 2.5, 2.5, 2.5],
            [-3, -3, -3, -3],
        ),
        (
            Structure.WARPED_MATERN,
            [0.5, 0.5, -2, -2, 0, 0, 0, 0],
            [1.5, 1.5, 2.5, 2.5, 1.2, 1.2, 1.2, 1.2],
            [0.5, 0.5, -2, -2, 0, 0, 0, 0],
        ),
    ],
)
def test_priors_and_starts(
    structure: Structure, means: list[float], sds: list[float], starts: list[float]
) -> None:
    prior = make_prior(structure, 2)
    assert_allclose(prior.mean[:-1], means)
    assert_allclose(prior.sd[:-1], sds)
    assert_allclose(prior.start[:-1], starts)
    assert_allclose(
        [prior.mean[-1], prior.sd[-1], prior.start[-1]],
        np.log(10) * np.array([-6, 1, -3]),
    )


def test_bounds() -> None:
    prior = make_prior(Structure.WARPED_MATERN, 1)
    assert_allclose(np.exp(prior.low), [0.01, np.exp(-9), np.exp(-3), np.exp(-3), 1e-8])
    assert_allclose(np.exp(prior.high), [200, np.exp(7), np.exp(3), np.exp(3), 0.3])


def test_penalty_by_hand() -> None:
    prior = make_prior(Structure.MATERN, 1)
    # 1, -1 and 1 standard deviations from the means
    p = np.array([2.0, -4.5, -5 * np.log(10)])
    value, gradient = prior.penalty(p)
    assert value == pytest.approx(1.5)
    assert_allclose(gradient, [1 / 2.5, -1 / 2.5, 1 / np.log(10)])


def test_fixed_nugget_has_no_penalty_and_no_room() -> None:
    prior = make_prior(Structure.MATERN, 1, eta=0.04)
    assert np.exp(prior.low[-1]) == pytest.approx(0.04)
    assert prior.low[-1] == prior.high[-1] == prior.start[-1]
    assert prior.penalty(prior.start)[1][-1] == 0.0


def test_json_keeps_every_bit() -> None:
    values = tuple(
        float(value) for value in np.random.default_rng(0).normal(size=9) * 1e-7
    )
    before = Hyperparameters(Structure.WARPED_MATERN, values)
    after = Hyperparameters.from_json(json.loads(json.dumps(before.as_json())))
    assert after == before


def test_group_shares_its_hyperparameters() -> None:
    p = np.log([0.1, 0.2, 3.0, 4.0, 1e-3])
    at = per_coordinate(Structure.GAUSSIAN, p, np.array([0, 1, 1]))
    assert_allclose(at.lengths, [0.1, 0.2, 0.2])
    assert_allclose(at.weights, [3.0, 4.0, 4.0])
    assert_allclose(at.a, 1.0)
    assert at.eta == pytest.approx(1e-3)


def test_wrong_number_of_hyperparameters_is_refused() -> None:
    with pytest.raises(ValueError, match="needs 5 hyperparameters"):
        per_coordinate(Structure.MATERN, np.zeros(7), own_groups(2))
