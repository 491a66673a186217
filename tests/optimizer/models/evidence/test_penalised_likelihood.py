"""The objective of a fit beside the normal density, its gradient beside difference
quotients.
"""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.evidence.hyperparameters import (
    Structure,
    make_prior,
    number_of_groups,
    own_groups,
)
from app.optimizer.models.evidence.penalised_likelihood import PenalisedLikelihood

STRUCTURES = list(Structure)


def likelihood(
    structure: Structure, n: int, d: int, groups: Ints | None = None
) -> PenalisedLikelihood:
    rng = np.random.default_rng(n + d)
    X = rng.random((n, d))
    y = np.sin(6 * X[:, 0]) + X[:, -1] ** 2 + 0.1 * rng.normal(size=n)
    y = (y - y.mean()) / y.std() if n > 1 else y
    groups = own_groups(d) if groups is None else groups
    return PenalisedLikelihood(
        structure, X, y, make_prior(structure, number_of_groups(groups)), groups
    )


def point(objective: PenalisedLikelihood) -> Floats:
    """Near the start, with a nugget of 1e-3 that keeps difference quotients exact."""
    rng = np.random.default_rng(1)
    p: Floats = objective.prior.start + 0.5 * rng.normal(
        size=len(objective.prior.start)
    )
    p[-1] = np.log(1e-3)
    return p


def dense(objective: PenalisedLikelihood) -> Floats:
    """R as a full matrix, from the last evaluation."""
    n = len(objective.y)
    R = np.zeros((n, n), order="F")
    objective.kernel.copy_to(R)
    below = np.tril(R, -1)
    return below + below.T + np.eye(n) * (1 + 1e-3)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_value_is_minus_the_largest_log_density_plus_penalty(
    structure: Structure,
) -> None:
    objective = likelihood(structure, 25, 3)
    p = point(objective)
    value, _ = objective(p)
    R, y, n = dense(objective), objective.y, 25

    def minus_log_density(beta_and_log_variance: Floats) -> float:
        beta, log_variance = beta_and_log_variance
        return -float(
            multivariate_normal(np.full(n, beta), np.exp(log_variance) * R).logpdf(y)
        )

    best = minimize(
        minus_log_density,
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-11},
    )
    constant = 0.5 * n * (np.log(2 * np.pi) + 1)
    assert value - objective.prior.penalty(p)[0] == pytest.approx(
        best.fun - constant, abs=1e-6
    )


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 8), (40, 3), (130, 4)])
def test_gradient_is_the_difference_quotient(
    structure: Structure, n: int, d: int
) -> None:
    objective = likelihood(structure, n, d)
    p, h = point(objective), 1e-5
    _, gradient = objective(p)
    quotient = [
        (objective.value(p + h * e) - objective.value(p - h * e)) / (2 * h)
        for e in np.eye(len(p))
    ]
    assert_allclose(gradient, quotient, rtol=1e-5, atol=1e-6)
    assert np.abs(gradient).max() > 0.1


@pytest.mark.parametrize("structure", STRUCTURES)
def test_gradient_of_groups_is_the_difference_quotient(structure: Structure) -> None:
    objective = likelihood(structure, 30, 5, np.array([0, 1, 1, 1, 2]))
    p, h = point(objective), 1e-5
    _, gradient = objective(p)
    quotient = [
        (objective.value(p + h * e) - objective.value(p - h * e)) / (2 * h)
        for e in np.eye(len(p))
    ]
    assert_allclose(gradient, quotient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_calls_do_not_depend_on_what_was_computed_before(structure: Structure) -> None:
    objective = likelihood(structure, 60, 3)
    p = point(objective)
    value, gradient = objective(p)
    objective(objective.prior.high)
    again, gradient_again = objective(p)
    assert again == value
    assert_allclose(gradient_again, gradient, rtol=0)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_gradient_at_both_bounds_is_finite(structure: Structure) -> None:
    objective = likelihood(structure, 20, 3)
    for p in (objective.prior.low, objective.prior.high):
        value, gradient = objective(p)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_tensor_of_pairs_and_coordinates_beyond_packed_triangles(
    structure: Structure,
) -> None:
    """Three packed triangles per coordinate (distances, factors, slopes) and a few
    matrices.
    """
    n, d = 120, 12
    tracemalloc.start()
    likelihood(structure, n, d)(make_prior(structure, d).start)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    triangle = 8 * n * (n - 1) / 2
    assert peak < (3 * d + 14) * triangle


def test_matrix_without_cholesky_factor_is_reported() -> None:
    objective = likelihood(Structure.MATERN, 6, 2)
    with pytest.raises(np.linalg.LinAlgError, match="finite"):
        objective(np.full(5, np.nan))
