"""Predictions beside the textbook's formulas with full inverses, leave-one-out beside
explicit refits.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.hyperparameters import (
    Hyperparameters,
    Structure,
    make_prior,
    own_groups,
)
from app.optimizer.models.evidence.kernel.cross_kernel import CrossKernel
from app.optimizer.models.evidence.kernel.scaled_coordinates import scaled_coordinates
from app.optimizer.models.evidence.posterior import Posterior, condition

STRUCTURES = list(Structure)
ETA = 1e-4


def data(n: int, d: int) -> tuple[Floats, Floats]:
    X = np.random.default_rng(n).random((n, d))
    return X, 300.0 + 20.0 * np.sin(5 * X[:, 0]) + 10.0 * X[:, -1] ** 2


def model(structure: Structure, X: Floats, y: Floats) -> Posterior:
    d = X.shape[1]
    prior = make_prior(structure, d)
    hyperparameters = Hyperparameters(structure, tuple(prior.mean.tolist())).with_eta(
        ETA
    )
    return condition(hyperparameters, X, y, own_groups(d))


def kernel(posterior: Posterior, X: Floats, Y: Floats) -> Floats:
    structure, at = posterior.hyperparameters.structure, posterior.at
    return CrossKernel(structure, at, scaled_coordinates(structure, at, X))(Y)


def naive(
    posterior: Posterior, X: Floats, y: Floats, T: Floats, sigma2: float | None = None
) -> tuple[Floats, Floats]:
    """Mean and variance of ordinary kriging, with full inverses."""
    inverse = np.linalg.inv(kernel(posterior, X, X) + ETA * np.eye(len(y)))
    ones, k = np.ones(len(y)), kernel(posterior, X, T)
    beta = (ones @ inverse @ y) / (ones @ inverse @ ones)
    if sigma2 is None:
        sigma2 = float((y - beta) @ inverse @ (y - beta)) / len(y)
    mean = beta + k.T @ inverse @ (y - beta)
    trend = (1 - ones @ inverse @ k) ** 2 / (ones @ inverse @ ones)
    variance = sigma2 * (1 + ETA - np.einsum("ij,ik,kj->j", k, inverse, k) + trend)
    return mean, variance


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("n", "d"), [(2, 1), (12, 3), (60, 4)])
def test_mean_and_variance_are_ordinary_kriging(
    structure: Structure, n: int, d: int
) -> None:
    X, y = data(n, d)
    T = np.random.default_rng(99).random((25, d))
    posterior = model(structure, X, y)
    expected_mean, expected_variance = naive(posterior, X, y, T)
    mean, std = posterior.mean_and_std(T)
    assert_allclose(mean, expected_mean, rtol=1e-8)
    assert_allclose(std**2, expected_variance, rtol=1e-5)
    assert_allclose(posterior.mean(T), mean, rtol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_leave_one_out_is_what_refits_without_the_row_predict(
    structure: Structure,
) -> None:
    X, y = data(18, 3)
    posterior = model(structure, X, y)
    left_out = posterior.leave_one_out()
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        mean, variance = naive(
            posterior, X[others], y[others], X[[i]], posterior.sigma2
        )
        assert left_out.mean[i] == pytest.approx(mean[0], rel=1e-7)
        assert left_out.variance[i] == pytest.approx(variance[0], rel=1e-6)
        density = norm(mean[0], np.sqrt(variance[0])).logpdf(y[i])
        assert left_out.log_density[i] == pytest.approx(density, rel=1e-5)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("deviations", [0.0, 1.0])
def test_believed_rows_are_conditioned_on_with_all_else_unchanged(
    structure: Structure, deviations: float
) -> None:
    X, y = data(20, 3)
    rng = np.random.default_rng(7)
    pending, T = rng.random((4, 3)), rng.random((30, 3))
    posterior = model(structure, X, y)
    mean, std = posterior.mean_and_std(pending)
    believed = mean + deviations * std
    expected_mean, expected_variance = naive(
        posterior, np.vstack([X, pending]), np.append(y, believed), T, posterior.sigma2
    )
    after = posterior.believe(pending, deviations)
    new_mean, new_std = after.mean_and_std(T)
    assert_allclose(new_mean, expected_mean, rtol=1e-8)
    assert_allclose(new_std**2, expected_variance, rtol=1e-5)
    assert after.hyperparameters == posterior.hyperparameters
    assert after.sigma2 == posterior.sigma2
    assert len(posterior.y) == 20


def test_believed_means_leave_every_mean_as_it_is() -> None:
    X, y = data(20, 3)
    rng = np.random.default_rng(7)
    posterior = model(Structure.MATERN, X, y)
    after = posterior.believe(rng.random((4, 3)))
    T = rng.random((30, 3))
    assert_allclose(after.mean(T), posterior.mean(T), rtol=1e-13)
    assert (after.mean_and_std(T)[1] <= posterior.mean_and_std(T)[1] + 1e-12).all()


def test_believed_rows_may_repeat_training_rows_and_each_other() -> None:
    X, y = data(20, 3)
    posterior = model(Structure.GAUSSIAN, X, y)
    after = posterior.believe(np.vstack([X[:3], X[:3], X[:1] + 1e-9]))
    mean, std = after.mean_and_std(X)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert after.believe(X[:0]) is after


def test_variance_of_a_training_row_is_about_its_nugget_and_never_zero() -> None:
    X, y = data(30, 2)
    posterior = model(Structure.GAUSSIAN, X, y)
    _, std = posterior.mean_and_std(X)
    assert (std**2 >= posterior.sigma2 * ETA * (1 - 1e-12)).all()
    assert (std**2 <= posterior.sigma2 * ETA * 2.01).all()
