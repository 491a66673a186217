"""Noise that a model estimates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.likelihood import Likelihood


def noisy(deviation: float) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(4)
    X = rng.random((80, 2))
    truth = np.sin(5 * X[:, 0]) + X[:, 1]
    return X, truth, truth + deviation * rng.standard_normal(80)


def test_the_slope_by_log_eta_is_that_of_the_likelihood() -> None:
    X, _, y = noisy(0.2)
    log_theta = np.log([2.0, 0.5])
    likelihood = Likelihood(np.asfortranarray(X), y, 0.05)
    likelihood(log_theta)
    slope = likelihood.eta_slope
    h = 1e-5
    above = Likelihood(np.asfortranarray(X), y, 0.05 * np.exp(h))(log_theta)[0]
    below = Likelihood(np.asfortranarray(X), y, 0.05 * np.exp(-h))(log_theta)[0]
    assert slope == pytest.approx((above - below) / (2 * h), rel=1e-4)


def test_noise_is_found_where_there_is_some_and_not_where_there_is_none() -> None:
    X, truth, y = noisy(0.3)
    model = Kriging(noise=None).fit(X, y)
    deviation = np.sqrt(model.eta_ * model.sigma2_)
    assert deviation == pytest.approx(0.3, rel=0.35)
    interpolating = Kriging().fit(X, y)
    error = np.abs(model.mean(X) - truth).mean()
    assert error < 0.85 * np.abs(interpolating.mean(X) - truth).mean()
    assert Kriging(noise=None).fit(X, truth).eta_ < 1e-5


def test_known_noise_and_its_unit() -> None:
    X, _, y = noisy(0.3)
    model = Kriging(noise=0.3).fit(X, y)
    scaled = Kriging(noise=300.0).fit(X, 1000.0 * y)
    assert scaled.eta_ == pytest.approx(model.eta_)
    assert_allclose(scaled.mean(X), 1000.0 * model.mean(X), rtol=1e-6)


def test_pending_points_of_a_noisy_model_keep_its_means() -> None:
    X, _, y = noisy(0.3)
    model = Kriging(noise=0.3).fit(X, y)
    new = np.array([[0.5, 0.5]])
    believing = model.believe(new)
    assert_allclose(believing.mean(X), model.mean(X))
    assert believing.mean_and_std(new)[1] < model.mean_and_std(new)[1]


def test_with_theta_given_noise_is_found_on_its_own() -> None:
    X, _, y = noisy(0.3)
    fitted = Kriging(noise=None).fit(X, y)
    frozen = Kriging(theta0=fitted.theta_, optimize=False, noise=None).fit(X, y)
    assert frozen.eta_ == pytest.approx(fitted.eta_, rel=1.5)
