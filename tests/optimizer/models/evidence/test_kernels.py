"""The kernels beside numbers computed by hand and beside scikit-learn's, the warp
beside difference quotients.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, Matern

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.hyperparameters import Coordinates, Structure
from app.optimizer.models.evidence.kernel.cross_kernel import CrossKernel
from app.optimizer.models.evidence.kernel.gaussian_factors import (
    ERROR,
    fewest_nodes,
    gaussian_factor,
)
from app.optimizer.models.evidence.kernel.kernel_matrix import make_kernel_matrix
from app.optimizer.models.evidence.kernel.scaled_coordinates import scaled_coordinates
from app.optimizer.models.evidence.kernel.warping import warp, warp_derivatives


def coordinates(d: int, seed: int = 0) -> Coordinates:
    rng = np.random.default_rng(seed)
    a, c = np.exp(rng.normal(size=(2, d)))
    return Coordinates(
        np.exp(rng.normal(size=d) - 1), np.exp(rng.normal(size=d)), a, c, 1e-6
    )


def training_kernel(structure: Structure, X: Floats, at: Coordinates) -> Floats:
    """K of all pairs, (n, n)."""
    matrix = make_kernel_matrix(structure, X)
    matrix.evaluate(at)
    K = np.zeros((len(X), len(X)), order="F")
    matrix.copy_to(K)
    below = np.tril(K, -1)
    return below + below.T + np.eye(len(X))


def composed(structure: Structure, at: Coordinates, X: Floats, Y: Floats) -> Floats:
    """The product of scikit-learn's kernels of one coordinate."""
    if structure.warped:
        X = 1 - (1 - X**at.a) ** at.c
        Y = 1 - (1 - Y**at.a) ** at.c
    K = np.ones((len(X), len(Y)))
    for k, length in enumerate(at.lengths):
        single = (
            RBF(length) if structure is Structure.GAUSSIAN else Matern(length, nu=2.5)
        )
        K *= (1 + at.weights[k] * single(X[:, [k]], Y[:, [k]])) / (1 + at.weights[k])
    return K


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        # r = 1: e = (1 + 1 + 1/3) exp(-1) = 0.8583853627; (1 + 3 e) / 4
        (Structure.MATERN, 0.8937890221),
        # dx / l = 1 / sqrt(5): e = exp(-0.1) = 0.9048374180; (1 + 3 e) / 4
        (Structure.GAUSSIAN, 0.9286280635),
    ],
)
def test_values_by_hand(structure: Structure, expected: float) -> None:
    at = Coordinates(np.array([0.5]), np.array([3.0]), np.ones(1), np.ones(1), 1e-6)
    X = np.array([[0.1], [0.1 + 0.5 / np.sqrt(5.0)]])
    assert_allclose(training_kernel(structure, X, at)[1, 0], expected, atol=1e-10)


def test_warped_value_by_hand() -> None:
    # a = 2, c = 3: u(0.5) = 1 - 0.75^3 = 0.578125, u(0) = 0; l = sqrt(5) u: r = 1
    at = Coordinates(
        np.array([0.578125 * np.sqrt(5.0)]),
        np.array([1.0]),
        np.array([2.0]),
        np.array([3.0]),
        1e-6,
    )
    K = training_kernel(Structure.WARPED_MATERN, np.array([[0.0], [0.5]]), at)
    assert_allclose(K[1, 0], (1 + 0.8583853627) / 2, atol=1e-10)


@pytest.mark.parametrize("structure", list(Structure))
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (17, 1), (150, 6), (9, 50)])
def test_kernels_are_products_of_scikit_learns(
    structure: Structure, n: int, d: int
) -> None:
    rng = np.random.default_rng(n)
    X, Y = rng.random((n, d)), rng.random((40, d))
    X[0, 0], Y[0, 0], Y[1] = 0.0, 1.0, X[0]
    at = coordinates(d)
    K = training_kernel(structure, X, at)
    assert_allclose(K, composed(structure, at, X, X), rtol=1e-11)
    cross = CrossKernel(structure, at, scaled_coordinates(structure, at, X))(Y)
    assert cross.shape == (n, 40)
    assert_allclose(cross, composed(structure, at, X, Y), rtol=1e-11)


@pytest.mark.parametrize("structure", list(Structure))
def test_shortest_lengths_and_equal_rows_are_sound(structure: Structure) -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.3, 0.31]])
    at = Coordinates(
        np.full(2, 0.01), np.full(2, np.exp(7.0)), np.ones(2), np.ones(2), 1e-8
    )
    K = training_kernel(structure, X, at)
    assert np.isfinite(K).all()
    assert (K > 0).all()
    assert (K <= 1 + 1e-11).all()  # rounding far below the least nugget, 1e-8
    assert_allclose(K[2, 1], 1.0)


def test_warp_is_the_identity_at_one_and_keeps_the_ends() -> None:
    x = np.linspace(0, 1, 11)
    assert_allclose(warp(x, np.ones(11), np.ones(11)), x, atol=1e-15)
    assert_allclose(
        warp(np.array([0.0, 1.0]), np.full(2, 0.05), np.full(2, 20.0)), [0.0, 1.0]
    )


@pytest.mark.parametrize(
    ("log_a", "log_c"), [(0.0, 0.0), (1.3, -0.7), (-2.9, 2.9), (2.9, -2.9)]
)
def test_warp_derivatives_are_difference_quotients(log_a: float, log_c: float) -> None:
    x = np.array([0.0, 1e-9, 0.02, 0.4, 0.77, 0.999, 1.0])
    h = 1e-6

    def at(log_a: float, log_c: float) -> Floats:
        return warp(x, np.exp(np.full(7, log_a)), np.exp(np.full(7, log_c)))

    by_log_a, by_log_c = warp_derivatives(
        x, np.exp(np.full(7, log_a)), np.exp(np.full(7, log_c))
    )
    assert_allclose(
        by_log_a, (at(log_a + h, log_c) - at(log_a - h, log_c)) / (2 * h), atol=1e-8
    )
    assert_allclose(
        by_log_c, (at(log_a, log_c + h) - at(log_a, log_c - h)) / (2 * h), atol=1e-8
    )


@pytest.mark.parametrize("h", [0.0, 1e-4, 0.05, 0.5, 2.0, 7.0, 9.0, 50.0])
def test_gaussian_factors_are_as_exact_as_promised(h: float) -> None:
    rng = np.random.default_rng(0)
    t = h * rng.uniform(-1.0, 1.0, 90)
    z = np.append((2.0 * h + 3.0) * rng.uniform(-1.0, 1.0, 60), t[:5])
    for share in (1e-6, 0.002, 0.3, 0.9995):
        of_t = gaussian_factor(t, share)
        factor = np.empty((len(z), 80))
        of_t.write(of_t.left(z, share), share, factor, first=10)
        e = np.exp(-0.5 * (z[:, None] - t[10:]) ** 2)
        assert_allclose(factor, 1.0 - share + share * e, rtol=0.0, atol=ERROR)


def test_few_nodes_suffice_for_long_length_scales_and_small_shares() -> None:
    # 2.2 (h / 2)^p / sqrt(p!) <= 1e-12: 2.2 * 0.5^16 / sqrt(16!) = 7.3e-12 is too much
    assert [fewest_nodes(h, 1.0) for h in (0.0, 1.0, 4.0, 50.0)] == [1, 17, 41, None]
    # 1e-3 * 2.2 * 0.5^14 / sqrt(14!) = 4.5e-13; with 0.5^13 / sqrt(13!) 3.4e-12
    assert fewest_nodes(1.0, 1e-3) == 14
    assert fewest_nodes(1.0, 1e-13) == 1
