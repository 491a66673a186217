"""Ordinary kriging as a scikit-learn regressor, with its own likelihood (see `likelihood`).

Notation:
    theta (d,)   coefficients in the correlation exp(-sum_k theta_k (x_k - x'_k)^2)
    beta, sigma2 the estimated constant mean and process variance
    eps          what is added to the diagonal of the correlation matrix R = L L^T
    k (n, N)     correlations of the n training rows with N new ones; V = L^-1 k
    w (n,)       L^-1 1
    a (n,)       R^-1 (y - beta)

Units. Inside, inputs and outputs are standardised; start and bounds of theta refer to standardised inputs. What a model
shows (`theta_`, `beta_`, `sigma2_`) and the `theta0` that it takes are in the units of X and y as given. So the theta
of one step is the right start for the next one, whose inputs have another mean and spread, and the theta of a part of
the data can serve for all of it. Only `log_likelihood_` is that of the standardised outputs.
"""

import copy
from typing import Literal, Self, overload

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from app.optimizer.arrays import Bools, Floats, Ints
from app.optimizer.models.likelihood import Evaluation, Likelihood, correlate, invert_lower
from app.optimizer.snapshot import SMALLEST

START = 0.5
BOUNDS = (1e-5, 100.0)
FTOL, GTOL = 1e-6, 1e-2  # the log-likelihood to about 0.01; a fifth fewer evaluations than by default
COLD_STEP, WARM_STEP = 4.0, 0.03  # in log theta; the best of several between 0.03 and 4, by likelihood and evaluations
ROUNDING = 16 * np.finfo(float).eps  # values that differ by less than this part of themselves are one value


class Kriging(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A Gaussian process with a constant unknown mean; rows that occur several times count once, with their mean value.

    `theta0` is where the search for theta starts, such as another model's `theta_` (None: 0.5 for standardised inputs);
    with `optimize=False` it is taken as it is.
    """

    def __init__(self, theta0: npt.ArrayLike | None = None, optimize: bool = True) -> None:
        self.theta0 = theta0
        self.optimize = optimize

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        rows, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True)  # (n given, d), (n given,)
        distinct, self.y_, self.rows_ = merge_repeated(rows, np.asarray(values, dtype=np.float64))
        Z, self.x_mean_, x_scale = standardise(distinct)  # (n, d), (d,), (d,)
        t, y_mean, y_scale = standardise(self.y_)  # (n,), (), ()
        self.constant_ = not t.any()  # then its deviations have a shape, but no scale: they are nearly 0
        likelihood = Likelihood(Z, t)
        given = None if self.theta0 is None else standardise_theta(self.theta0, x_scale)  # (d,)
        if self.optimize and not self.constant_:
            theta = maximise(likelihood, given)  # (d,) of standardised inputs
        else:
            theta = cold_start(len(x_scale)) if given is None else given
        factors = likelihood.factorise(theta)
        self.n_evaluations_ = likelihood.evaluations
        self.theta_ = theta / x_scale**2
        self.S_ = Z * np.sqrt(theta)  # (n, d)
        self.eps_, self.log_likelihood_ = factors.eps, factors.log_likelihood
        self.beta_, self.sigma2_ = float(y_mean + y_scale * factors.beta), float(y_scale**2 * factors.sigma2)
        self.w_, self.a_ = factors.w, y_scale * factors.a  # (n,), (n,)
        self.L_inverse_ = invert_lower(factors.L)  # (n, n), lower triangle
        return self

    @overload
    def predict(self, X: npt.ArrayLike, return_std: Literal[False] = False) -> Floats: ...
    @overload
    def predict(self, X: npt.ArrayLike, return_std: Literal[True]) -> tuple[Floats, Floats]: ...
    def predict(self, X: npt.ArrayLike, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """The mean, and the standard deviation of a value told at X, with what the estimated mean adds to it."""
        rows = self._check(X)
        return self.mean_and_std(rows) if return_std else self.mean(rows)

    def mean(self, X: Floats) -> Floats:
        """As `predict`, for rows known to be sound: scikit-learn's checks take longer than the mean of 100 rows."""
        mean: Floats = self.beta_ + self.a_ @ correlate(self.S_, self._scale(X))  # (N,)
        return mean

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        """As `predict` with `return_std`, for rows known to be sound."""
        k = correlate(self.S_, self._scale(X))  # (n, N)
        mean = self.beta_ + self.a_ @ k  # (N,)
        V = blas.dtrmm(1.0, self.L_inverse_, k, lower=1, overwrite_b=1)  # (n, N)
        trend = (1.0 - self.w_ @ V) ** 2 / (self.w_ @ self.w_)  # (N,)
        v = 1.0 + self.eps_ - np.einsum("ij,ij->j", V, V) + trend  # (N,)
        return mean, np.sqrt(self.sigma2_ * np.maximum(v, self.eps_))  # v < eps can only be rounding

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation at each row given to `fit`, from the other rows with the same theta and sigma2.

        Closed form of Dubrule (1983), mean estimated anew each time; a single row has nothing to predict it: NaN.
        """
        check_is_fitted(self)
        Linv = np.tril(self.L_inverse_)
        u = self.w_ @ Linv  # (n,) R^-1 1
        Q = np.einsum("ij,ij->j", Linv, Linv) - u**2 / (self.w_ @ self.w_)  # (n,) diagonal
        if len(Q) == 1:
            Q[:] = np.nan
        return (self.y_ - self.a_ / Q)[self.rows_], np.sqrt(self.sigma2_ / Q)[self.rows_]

    def believe(self, X: npt.ArrayLike) -> Self:
        """The model as it will be if the values at X turn out as predicted: the same means, less variance."""
        if np.shape(X)[0] == 0:
            return self
        rows = self._check(X)  # (q, d)
        y = self.mean(rows)  # (q,)
        model = copy.copy(self)
        model.S_ = np.asfortranarray(np.vstack([self.S_, self._scale(rows)]))  # (n + q, d)
        model.y_ = np.concatenate([self.y_, y])
        model.rows_ = np.concatenate([self.rows_, len(self.y_) + np.arange(len(y))])
        model.a_ = np.concatenate([self.a_, np.zeros(len(y))])  # believed values pull the mean nowhere
        factors = Likelihood(model.S_, model.y_).factorise(np.ones(self.n_features_in_))
        model.eps_, model.w_, model.L_inverse_ = factors.eps, factors.w, invert_lower(factors.L)
        return model

    def _check(self, X: npt.ArrayLike) -> Floats:
        check_is_fitted(self)
        rows: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return rows

    def _scale(self, X: Floats) -> Floats:
        return (X - self.x_mean_) * np.sqrt(self.theta_)


def merge_repeated(X: Floats, y: Floats) -> tuple[Floats, Floats, Ints]:
    """Distinct rows in order of appearance, their mean values, and for each given row its number among these."""
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = np.argsort(order)[group.ravel()]
    return X[first[order]], np.bincount(rows, weights=y) / np.bincount(rows), rows


def standardise(A: Floats) -> tuple[Floats, Floats, Floats]:
    """Columns with mean 0 and standard deviation 1, the means and the deviations; constant columns become 0."""
    flat = is_constant(A)
    mean, scale = A.mean(axis=0), np.where(flat, 1.0, A.std(axis=0))
    return np.asfortranarray(np.where(flat, 0.0, (A - mean) / scale)), mean, scale


def is_constant(A: Floats) -> Bools:
    """Which columns differ by rounding only, or by too little to be squared; of one column (n,): whether it does."""
    return np.asarray(A.std(axis=0) <= np.maximum(ROUNDING * np.abs(A).max(axis=0), SMALLEST))


def standardise_theta(theta: npt.ArrayLike, x_scale: Floats) -> Floats:
    """From the coefficients of inputs as given to those of standardised inputs."""
    result = np.broadcast_to(np.asarray(theta, dtype=np.float64), x_scale.shape) * x_scale**2
    if not np.all((result > 0.0) & np.isfinite(result)):
        raise ValueError(f"theta0 must be positive and finite, one number for each input; it is {theta!r}")
    return result


def cold_start(d: int) -> Floats:
    # Differs from a start at 0.5 for every d: from d = 30 on, no two points correlate there and the gradient is 0.
    return np.full(d, min(START, 5.0 / d))


def maximise(likelihood: Likelihood, given: Floats | None) -> Floats:
    """The theta of the largest likelihood that L-BFGS-B finds on log theta, from a given theta or a cold start."""
    n, d = likelihood.X.shape
    if given is not None:
        x = np.log(np.clip(given, *BOUNDS))
        first = likelihood(x)
        if -first[0] > -0.5 * n * (np.log(2.0 * np.pi) + 1.0):  # more than no correlation at all would explain
            return climb(likelihood, x, first, WARM_STEP)
    x = np.log(cold_start(d))
    return climb(likelihood, x, likelihood(x), COLD_STEP)


def climb(likelihood: Likelihood, x: Floats, first: Evaluation, step: float) -> Floats:
    """From log theta = x, where the evaluation is known; `step` is how far the steepest component goes at first.

    With bounds on every side L-BFGS-B begins with a step as long as the gradient. At n >= 300 this went from 0.5 past
    the optimum to 1e-5, a trend with noise, in about half of the cases (on DTLZ2, n = 545, to 185 instead of 604).
    """
    steepest = np.abs(first[1]).max()
    if steepest <= GTOL:
        return np.exp(x)
    scale = step / steepest

    def scaled(log_theta: Floats) -> Evaluation:
        value, gradient = first if np.array_equal(log_theta, x) else likelihood(log_theta)
        return scale * value, scale * gradient

    found = minimize(
        scaled,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(BOUNDS[0]), np.log(BOUNDS[1]))] * len(x),
        options={"ftol": FTOL, "gtol": GTOL * scale},
    )
    theta: Floats = np.exp(found.x)
    return theta
