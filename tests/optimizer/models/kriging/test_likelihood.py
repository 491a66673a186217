"""The likelihood against the normal density, its gradient against differences, its
inverse against numpy's.
"""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging import likelihood as likelihood_module
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.likelihood import (
    PANEL,
    Likelihood,
    cholesky,
    invert_lower,
)


def sample(n: int, d: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(n)
    X = np.asfortranarray(rng.normal(size=(n, d)))
    return X, np.sin(2 * X[:, 0]) + X[:, -1] ** 2


SHAPES = [(2, 1), (9, 12), (60, 4), (PANEL, 3), (2 * PANEL + 17, 5)]


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_value_is_the_normal_density_at_the_best_mean_and_variance(
    n: int, d: int
) -> None:
    X, y = sample(n, d)
    theta = np.linspace(0.3, 0.9, d)
    factors = Likelihood(X, y).factorise(theta)
    R = np.exp(
        -np.einsum("ijk,k->ij", (X[:, None] - X[None]) ** 2, theta)
    ) + factors.eps * np.eye(n)

    def density(beta: float, sigma2: float) -> float:
        return float(multivariate_normal(np.full(n, beta), sigma2 * R).logpdf(y))

    assert factors.log_likelihood == pytest.approx(
        density(factors.beta, factors.sigma2), abs=1e-5
    )
    for beta, sigma2 in [(1e-2, 1.0), (-1e-2, 1.0), (0.0, 1.01), (0.0, 0.99)]:
        assert (
            density(factors.beta + beta, factors.sigma2 * sigma2)
            < factors.log_likelihood
        )


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_gradient_is_the_difference_quotient(n: int, d: int) -> None:
    likelihood = Likelihood(*sample(n, d))
    at = np.linspace(-1.5, 0.5, d)
    _, gradient = likelihood(at)
    h = 1e-5
    quotient = [
        (likelihood(at + h * e)[0] - likelihood(at - h * e)[0]) / (2 * h)
        for e in np.eye(d)
    ]
    assert_allclose(gradient, quotient, rtol=1e-5, atol=1e-6)
    assert np.abs(gradient).max() > 1e-3


def test_calls_do_not_depend_on_what_was_computed_before() -> None:
    likelihood = Likelihood(*sample(150, 3))
    value, gradient = likelihood(np.zeros(3))
    for _ in range(6):
        likelihood(np.full(3, 3.0))
    again, gradient_again = likelihood(np.zeros(3))
    assert again == value
    assert_allclose(gradient_again, gradient, rtol=0)


def test_no_correlation_is_a_denormal_number() -> None:
    X, y = sample(150, 3)
    likelihood = Likelihood(X, y)
    likelihood.factorise(np.full(3, 1e4))
    assert likelihood.K[np.tril_indices(150, -1)].min() == np.exp(-80.0)


@pytest.mark.parametrize("n", [1, 2, 48, 49, 131, 300])
def test_inverse_of_a_triangle(n: int) -> None:
    rng = np.random.default_rng(n)
    L = np.asfortranarray(
        np.tril(rng.normal(size=(n, n))) / n + np.diag(rng.uniform(1, 2, n))
    )
    expected = np.linalg.inv(L)
    assert_allclose(np.tril(invert_lower(L)), expected, atol=1e-12)
    assert_allclose(np.tril(L), expected, atol=1e-12)  # in its place


@pytest.mark.parametrize(("excess", "eps"), [(0.0, 1e-8), (5e-8, 1e-7), (5e-4, 1e-3)])
def test_eps_grows_tenfold_until_there_is_a_factor(excess: float, eps: float) -> None:
    # Eigenvalues 2 + excess and -excess
    K = np.asfortranarray([[1.0, 0.0], [1.0 + excess, 1.0]])
    L, found = cholesky(K, np.zeros((2, 2), order="F"))
    assert found == pytest.approx(eps)
    assert_allclose(
        np.tril(L) @ np.tril(L).T,
        [[1 + found, 1 + excess], [1 + excess, 1 + found]],
        rtol=1e-12,
    )


@pytest.mark.parametrize("entry", [5.0, np.nan])
def test_matrix_without_a_factor_is_an_error(entry: float) -> None:
    K = np.asfortranarray([[1.0, 0.0], [entry, 1.0]])
    with pytest.raises(np.linalg.LinAlgError, match="no Cholesky factor"):
        cholesky(K, np.zeros((2, 2), order="F"))


def test_fit_survives_failing_factorisations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood_module, "EPS", 1e-19)
    x = np.linspace(0, 1, 80)[:, None]
    y = np.sin(9 * x[:, 0])
    model, again = Kriging().fit(x, y), Kriging().fit(x, y)
    assert model.eps_ > 1e-18
    assert model.log_likelihood_ == again.log_likelihood_
    mean, std = model.mean_and_std(np.linspace(0, 1, 500)[:, None])
    assert_allclose(mean, np.sin(9 * np.linspace(0, 1, 500)), atol=1e-3)
    assert np.all(std >= np.sqrt(model.eps_ * model.sigma2_))


@pytest.mark.parametrize("d", [2, 60])
def test_memory_is_a_few_square_matrices_whatever_the_number_of_inputs(d: int) -> None:
    n = 400
    X, y = sample(n, d)
    tracemalloc.start()
    Kriging().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * (4 * n * n + 10 * n * d) + 300_000
