"""Kriging against scikit-learn, against the dense equations, and against a case worked
out by hand.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.likelihood import correlate
from app.optimizer.models.kriging.maximise_likelihood import BOUNDS
from app.optimizer.snapshot import SMALLEST


def sample(n: int, d: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Inputs and outputs in units of their own, far from standardised."""
    rng = np.random.default_rng(seed)
    U = rng.random((n, d))
    y = np.sin(4 * U[:, 0]) + U[:, -1] ** 2 + 0.3 * U.sum(axis=1)
    return 7.0 + 3.0 * U, 100.0 + 20.0 * y


def correlation(model: Kriging, A: Floats, B: Floats) -> Floats:
    """Entry by entry, from the definition."""
    result: Floats = np.exp(
        -np.einsum("ijk,k->ij", (A[:, None] - B[None]) ** 2, model.theta_)
    )
    return result


def dense(model: Kriging, X: Floats, y: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Ordinary kriging as one linear system with a Lagrange multiplier for the mean: no
    Cholesky, no profiling.
    """
    n = len(X)
    A = np.ones((n + 1, n + 1))
    A[:n, :n] = correlation(model, X, X) + model.eps_ * np.eye(n)
    A[n, n] = 0.0
    k = np.vstack([correlation(model, X, new), np.ones(len(new))])  # (n + 1, N)
    weights = np.linalg.solve(A, k)
    variance = model.sigma2_ * (1.0 + model.eps_ - (k * weights).sum(axis=0))
    return np.append(y, 0.0) @ weights, np.sqrt(variance)


def test_two_points_by_hand() -> None:
    """R = [[1, 1/2], [1/2, 1]], so beta = 1, a = (-2, 2), sigma2 = 2, and 1' R^-1 1 =
    4/3.
    """
    model = Kriging(theta0=[np.log(2.0)], optimize=False).fit(
        [[0.0], [1.0]], [0.0, 2.0]
    )
    assert (model.beta_, model.sigma2_) == pytest.approx((1.0, 2.0), abs=1e-7)
    assert model.log_likelihood_ == pytest.approx(
        -np.log(4 * np.pi) - np.log(0.75) / 2 - 1, abs=1e-7
    )
    mean, std = model.mean_and_std(np.array([[0.5], [2.0]]))
    assert_allclose(mean, [1.0, 1.0 - 2 / 16 + 2 / 2], atol=1e-7)
    c = 2.0**-0.25  # the correlation of x = 1/2 with either point
    middle = 1 - 2 * c**2 / 1.5 + (1 - 2 * c / 1.5) ** 2 * 3 / 4
    right = 1 - (1 / 256 + 1 / 4 - 1 / 32) * 4 / 3 + (1 - 9 / 16 / 1.5) ** 2 * 3 / 4
    assert_allclose(std**2, [2 * middle, 2 * right], atol=1e-6)
    assert_allclose(
        model.leave_one_out(), [[2.0, 0.0], [np.sqrt(2), np.sqrt(2)]], atol=1e-6
    )


@pytest.mark.parametrize(("n", "d"), [(12, 1), (40, 3), (150, 6), (8, 12)])
def test_agrees_with_scikit_learn(n: int, d: int) -> None:
    X, y = sample(n, d)
    model = Kriging().fit(X, y)
    noisy = RBF(1 / np.sqrt(2 * model.theta_), "fixed") + WhiteKernel(
        model.eps_, "fixed"
    )
    kernel = ConstantKernel(model.sigma2_, "fixed") * noisy
    peer = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(
        X, y - model.beta_
    )
    # Also at the training rows themselves
    new = np.vstack([sample(50, d, seed=1)[0], X])
    R = correlation(model, X, X) + model.eps_ * np.eye(n)
    explained = np.linalg.solve(R, correlation(model, X, new)).sum(axis=0)
    trend = model.sigma2_ * (1 - explained) ** 2 / np.linalg.solve(R, np.ones(n)).sum()
    mean, std = model.mean_and_std(new)
    peer_mean, peer_std = peer.predict(new, return_std=True)
    scale = y.std()
    assert_allclose(mean / scale, (peer_mean + model.beta_) / scale, atol=1e-6)
    assert_allclose(np.sqrt(std**2 - trend) / scale, peer_std / scale, atol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (30, 2), (140, 5)])
def test_agrees_with_the_dense_system(n: int, d: int) -> None:
    X, y = sample(n, d)
    model = Kriging(theta0=np.linspace(0.2, 0.6, d), optimize=False).fit(X, y)
    # From -0.5 to 17.5; the data lie between 7 and 10
    new = 6.0 * sample(40, d, seed=1)[0] - 42.5
    mean, std = model.mean_and_std(new)
    expected_mean, expected_std = dense(model, X, y, new)
    assert_allclose(mean, expected_mean, rtol=1e-7)
    assert_allclose(std, expected_std, rtol=1e-4, atol=1e-6 * y.std())
    # The uncertainty of the mean comes on top of the process's own
    assert std.max() ** 2 > 1.01 * model.sigma2_


@pytest.mark.parametrize("repeats", [0, 5])
def test_leave_one_out_is_what_the_other_rows_predict(repeats: int) -> None:
    X, y = sample(25, 3)
    order = np.random.default_rng(1).permutation(
        np.append(np.arange(25), np.arange(repeats))
    )
    model = Kriging().fit(X[order], y[order])
    mean, std = model.leave_one_out()
    for i, row in enumerate(order):
        others = np.arange(25) != row
        expected_mean, expected_std = dense(model, X[others], y[others], X[[row]])
        assert_allclose(
            (mean[i], std[i]), (expected_mean[0], expected_std[0]), rtol=1e-5
        )


def test_believed_points_leave_means_and_take_variance() -> None:
    X, y = sample(30, 2)
    model = Kriging().fit(X, y)
    pending, new = sample(4, 2, seed=2)[0], sample(20, 2, seed=3)[0]
    before = model.mean_and_std(new)
    believed = model.believe(pending)
    mean, std = believed.mean_and_std(new)
    expected = dense(
        model, np.vstack([X, pending]), np.append(y, model.mean(pending)), new
    )
    assert_allclose(mean, before[0], rtol=1e-12)
    assert_allclose(mean, expected[0], rtol=1e-6)
    assert_allclose(std, expected[1], rtol=1e-3, atol=1e-6 * y.std())
    assert np.all(std <= before[1] * (1 + 1e-6))
    assert np.any(std < 0.9 * before[1])
    assert (believed.beta_, believed.sigma2_) == (model.beta_, model.sigma2_)
    assert_array_equal(believed.theta_, model.theta_)
    # The model itself is as it was
    assert_array_equal(model.mean_and_std(new), before)
    assert_allclose(
        believed.leave_one_out()[0][:30], model.leave_one_out()[0], atol=0.3 * y.std()
    )


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_pessimistic_beliefs_are_conditioned_on(offset: float) -> None:
    """A deviation above the mean: the same as data with these values would give."""
    X, y = sample(30, 2)
    model = Kriging().fit(X, y + offset)
    pending, new = sample(4, 2, seed=2)[0], sample(20, 2, seed=3)[0]
    mean, std = model.mean_and_std(pending)
    believed = model.believe(pending, deviations=1.0)
    expected = dense(
        model, np.vstack([X, pending]), np.append(y + offset, mean + std), new
    )
    new_mean, new_std = believed.mean_and_std(new)
    tolerance = 1e-5 * y.std()
    assert_allclose(new_mean, expected[0], rtol=0.0, atol=tolerance)
    assert_allclose(new_std, expected[1], rtol=1e-3, atol=tolerance)
    assert_allclose(believed.mean(pending), mean + std, rtol=1e-3)
    assert believed.sigma2_ == model.sigma2_


def test_nothing_pending_changes_nothing() -> None:
    X, y = sample(10, 2)
    model = Kriging().fit(X, y)
    assert model.believe(np.empty((0, 2))) is model


def test_pending_point_that_is_known_already() -> None:
    X, y = sample(10, 2)
    mean, std = Kriging().fit(X, y).believe(X[:3]).mean_and_std(X)
    assert_allclose(mean, y, rtol=1e-4)
    assert np.all(std > 0)


def test_other_units_and_offsets_change_nothing_else() -> None:
    X, y = sample(40, 3)
    new = sample(20, 3, seed=1)[0]
    model = Kriging().fit(X, y)
    other = Kriging().fit((X - 5.0) * [1e3, 1.0, 1e-4], 1e6 - 1e-3 * y)
    mean, std = model.mean_and_std(new)
    other_mean, other_std = other.mean_and_std((new - 5.0) * [1e3, 1.0, 1e-4])
    assert_allclose((1e6 - other_mean) * 1e3, mean, rtol=1e-4)
    assert_allclose(other_std * 1e3, std, rtol=1e-3)
    assert_allclose(other.theta_ * [1e6, 1.0, 1e-8], model.theta_, rtol=1e-2)


def test_permuted_rows_give_the_same_model() -> None:
    X, y = sample(40, 3)
    order = np.random.default_rng(5).permutation(40)
    model = Kriging(theta0=[0.3, 0.2, 0.1], optimize=False).fit(X, y)
    permuted = Kriging(theta0=[0.3, 0.2, 0.1], optimize=False).fit(X[order], y[order])
    assert_allclose(
        permuted.leave_one_out(), np.array(model.leave_one_out())[:, order], rtol=1e-5
    )
    assert_allclose(permuted.mean(X[:5] + 0.1), model.mean(X[:5] + 0.1), rtol=1e-8)


def test_theta_of_one_model_serves_another_whose_inputs_have_another_spread() -> None:
    X, y = sample(60, 3)
    centre = np.abs(X - 8.5).max(axis=1) < 1.2
    part = Kriging().fit(X[centre], y[centre])
    whole = Kriging(theta0=part.theta_, optimize=False).fit(X, y)
    assert_allclose(whole.theta_, part.theta_, rtol=1e-12)
    assert whole.n_evaluations_ == 0


def test_warm_start_is_shorter_and_ends_as_well() -> None:
    X, y = sample(80, 4)
    before = Kriging().fit(X[:77], y[:77])
    cold, warm = Kriging().fit(X, y), Kriging(theta0=before.theta_).fit(X, y)
    assert warm.n_evaluations_ < cold.n_evaluations_
    assert warm.log_likelihood_ > cold.log_likelihood_ - 0.1


@pytest.mark.parametrize("theta0", [1e308, 1e3, 1e-9])
def test_useless_warm_start_does_no_harm(theta0: float) -> None:
    X, y = sample(60, 12)
    cold, warm = Kriging().fit(X, y), Kriging(theta0=np.full(12, theta0)).fit(X, y)
    assert warm.log_likelihood_ > cold.log_likelihood_ - 0.1


def test_many_inputs_do_not_strand_the_search_at_its_start() -> None:
    X, y = sample(120, 40)
    # The log-likelihood of independent values
    nothing_learnt = -60 * (np.log(2 * np.pi) + 1)
    assert Kriging().fit(X, y).log_likelihood_ > nothing_learnt + 50


@pytest.mark.parametrize(("n", "least"), [(300, 110.0), (400, 270.0)])
def test_first_step_does_not_pass_the_optimum(n: int, least: float) -> None:
    """With a first step as long as the gradient the log-likelihoods end at -1 and 61."""
    U = np.random.default_rng(n).random((n, 10))
    y = (
        (1 + ((U[:, 2:] - 0.5) ** 2).sum(axis=1))
        * np.cos(U[:, 0] * np.pi / 2)
        * np.cos(U[:, 1] * np.pi / 2)
    )
    assert Kriging().fit(U, y).log_likelihood_ > least


def test_theta_stays_within_its_bounds() -> None:
    X, _ = sample(40, 3)
    # A jump between neighbours, and inputs that do nothing
    y = np.where(np.arange(40) % 2, 1.0, -1.0) + X[:, 0] ** 2
    for theta0 in (None, [1e9, 1e-9, 1.0]):
        theta = Kriging(theta0=theta0).fit(X, y).theta_ * X.std(axis=0) ** 2
        assert np.all(
            (theta >= BOUNDS[0] * (1 - 1e-9)) & (theta <= BOUNDS[1] * (1 + 1e-9))
        )


@pytest.mark.parametrize("seed", range(4))
def test_likelihood_is_no_worse_than_scikit_learns(seed: int) -> None:
    X, y = sample(50, 3, seed)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    lengths = (200**-0.5, 2e-5**-0.5)
    kernel = ConstantKernel(1.0) * (
        RBF(np.ones(3), lengths) + WhiteKernel(1e-8, "fixed")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y)
    assert Kriging().fit(X, y).log_likelihood_ > peer.log_marginal_likelihood_value_ - 2


def test_constant_outputs() -> None:
    X, _ = sample(20, 3)
    mean, std = Kriging().fit(X, np.full(20, 0.1)).mean_and_std(X + 0.5)
    assert_allclose(mean, 0.1, rtol=1e-12)
    assert np.all((std > 0) & (std < 1e-6))


def test_outputs_that_differ_by_rounding_are_constant() -> None:
    X, _ = sample(20, 3)
    y = np.where(np.arange(20) % 2, 1e20, np.nextafter(1e20, 0))
    model = Kriging().fit(X, y)
    assert model.n_evaluations_ == 0
    assert_allclose(model.mean(X), 1e20)


def test_constant_input_column() -> None:
    X, y = sample(20, 3)
    X[:, 1] = 0.1
    model = Kriging().fit(X, y)
    assert np.all(np.isfinite(model.theta_))
    assert_allclose(model.mean(X), y, rtol=1e-4)


@pytest.mark.parametrize(("n", "constant"), [(1, True), (20, False)])
def test_a_model_says_whether_it_saw_one_value_only(n: int, constant: bool) -> None:
    X, y = sample(n, 3)
    assert Kriging().fit(X, y).constant_ == constant
    assert Kriging().fit(X, np.full(n, 0.1)).constant_


@pytest.mark.parametrize("spread", [1e-153, 1e-160, 1e-310])
def test_an_input_column_whose_squared_spread_vanishes_is_constant(
    spread: float,
) -> None:
    X = np.array([[0.0, 0.2], [spread, 0.5], [0.0, 0.9]])
    model = Kriging().fit(X, [1.0, 2.0, 4.0])
    assert np.all(np.isfinite(model.theta_))
    again = Kriging(theta0=model.theta_).fit(X, [1.0, 2.0, 4.0])
    assert_allclose(
        again.mean(np.array([[0.0, 0.2], [0.0, 0.9]])), [1.0, 4.0], rtol=1e-4
    )


@pytest.mark.parametrize("unit", [1e-100, 1e-135, 1e-145, 1e-160, 1e-165, 1e-310])
def test_outputs_are_learnt_in_any_unit_or_are_constant(unit: float) -> None:
    """In between, with squares that lose their digits, a deviation could be 0 or 1e154
    times too large.
    """
    X, y = sample(30, 3)
    new = sample(9, 3, seed=1)[0]
    y = (y - y.mean()) / y.std()
    expected, model = (
        Kriging().fit(X, y).mean_and_std(new),
        Kriging().fit(X, unit * y),
    )
    assert model.constant_ == (unit < SMALLEST)
    if not model.constant_:
        assert_allclose(np.array(model.mean_and_std(new)) / unit, expected, rtol=1e-4)


def test_single_row() -> None:
    model = Kriging().fit([[0.2, 0.4]], [3.0])
    mean, std = model.mean_and_std(np.array([[0.2, 0.4], [0.9, 0.1]]))
    assert_allclose(mean, 3.0)
    # The shape of the variance is right, though its scale cannot be known
    assert std[1] > std[0] > 0
    assert np.all(np.isnan(model.leave_one_out()))


def test_fewer_rows_than_inputs() -> None:
    X, y = sample(4, 10)
    model = Kriging().fit(X, y)
    assert_allclose(model.mean(X), y, rtol=1e-4)
    assert np.all(np.isfinite(model.leave_one_out()))


def test_repeated_rows_count_once_with_their_mean() -> None:
    X, y = sample(15, 2)
    once = Kriging().fit(X, y)
    twice = Kriging().fit(
        np.vstack([X[3:6], X]),
        np.append(y[3:6] + 1.0, y - np.isin(np.arange(15), [3, 4, 5])),
    )
    assert_allclose(twice.mean(X + 0.1), once.mean(X + 0.1), rtol=1e-6)
    assert len(twice.leave_one_out()[0]) == 18


def test_all_rows_the_same() -> None:
    model = Kriging().fit(np.ones((5, 2)), np.arange(5.0))
    assert_allclose(model.mean(np.ones((1, 2))), 2.0)


def test_rows_that_differ_by_rounding() -> None:
    # No theta is better than another
    model = Kriging().fit([[1.0], [np.nextafter(1.0, 2.0)]], [0.0, 1.0])
    assert_allclose(model.mean(np.ones((1, 1))), 0.5)


def test_nearly_repeated_rows_with_other_values() -> None:
    X, y = sample(15, 2)
    model = Kriging().fit(np.vstack([X, X + 1e-9]), np.append(y, y + 5.0))
    mean, std = model.mean_and_std(X)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))


def test_far_points_have_the_least_correlation_not_a_denormal_one() -> None:
    assert_array_equal(
        correlate(np.zeros((1, 1)), np.array([[100.0], [0.0]])), [[np.exp(-80.0), 1.0]]
    )


def test_theta0_beyond_all_numbers_is_an_error() -> None:
    with (
        pytest.raises(np.linalg.LinAlgError, match="finite"),
        np.errstate(all="ignore"),
    ):
        Kriging(theta0=1e308, optimize=False).fit(*sample(10, 2))


@pytest.mark.parametrize("theta0", [[0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0]])
def test_theta0_must_be_positive(theta0: list[float]) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        Kriging(theta0=theta0).fit(*sample(10, 2))


def test_two_fits_are_identical() -> None:
    X, y = sample(140, 4)
    first, second = Kriging().fit(X, y), Kriging().fit(X, y)
    assert_array_equal(first.theta_, second.theta_)
    assert_array_equal(first.mean_and_std(X), second.mean_and_std(X))
