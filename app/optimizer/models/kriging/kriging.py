"""Ordinary kriging with its own likelihood (see `likelihood`). `regressor` makes a
scikit-learn regressor of it.

Notation:
    theta (d,)   coefficients in the correlation exp(-sum_k theta_k (x_k - x'_k)^2)
    beta, sigma2 the estimated constant mean and process variance
    eps          what is added to the diagonal of the correlation matrix R = L L^T
    k (n, N)     correlations of the n training rows with N new ones; V = L^-1 k
    w (n,)       L^-1 1
    a (n,)       R^-1 (y - beta)

Units. Inside, inputs and outputs are standardised; start and bounds of theta refer to
standardised inputs. What a model shows (`theta_`, `beta_`, `sigma2_`) and the `theta0`
that it takes are in the units of X and y as given. So the theta of one step is the
right start for the next one, whose inputs have another mean and spread, and the theta
of a part of the data can serve for all of it. Only `log_likelihood_` is that of the
standardised outputs.
"""

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging.likelihood import Likelihood, correlate, invert_lower
from app.optimizer.models.kriging.maximise_likelihood import (
    best_noise,
    cold_start,
    maximise,
    maximise_with_noise,
)
from app.optimizer.models.kriging.standardise import (
    merge_repeated,
    standardise,
    standardise_in_groups,
    standardise_theta,
)


class Kriging:
    """A Gaussian process with a constant unknown mean; rows that occur several times
    count once, with their mean value.

    `theta0` is where the search for theta starts, such as another model's `theta_`
    (None: 0.5 for standardised inputs); with `optimize=False` it is used as it is.
    `groups` (d,): inputs of the same number share a coefficient, as those of a
    categorical variable do; None: no two do. `noise`: the standard deviation of the
    values' noise, in their unit, None: estimated; the mean then no longer interpolates.
    """

    def __init__(
        self,
        theta0: npt.ArrayLike | None = None,
        optimize: bool = True,
        groups: Sequence[int] | None = None,
        noise: float | None = 0.0,
    ) -> None:
        self.theta0 = theta0
        self.optimize = optimize
        self.groups = groups
        self.noise = noise

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        rows = np.asarray(X, dtype=np.float64)  # (n given, d)
        values = np.asarray(y, dtype=np.float64)  # (n given,)
        if self.noise == 0.0:
            distinct, self.y_, self.rows_ = merge_repeated(rows, values)
        else:  # each value tells more of its point
            distinct, self.y_, self.rows_ = rows, values, np.arange(len(values))
        # (n, d), (d,), (d,)
        Z, self.x_mean_, x_scale = standardise_in_groups(distinct, self.groups)
        t, y_mean, y_scale = standardise(self.y_)  # (n,), (), ()
        # Then its deviations have a shape, but no scale: they are nearly 0
        self.constant_ = not t.any()
        # Outputs have variance 1 here, and so has, about, the process
        known = 0.0 if self.noise is None else float((self.noise / y_scale) ** 2)
        likelihood = Likelihood(Z, t, known)
        theta = self._choose_theta(likelihood, x_scale)  # (d,)
        self.eta_ = likelihood.eta
        factors = likelihood.factorise(theta)
        self.n_evaluations_ = likelihood.evaluations
        self.theta_ = theta / x_scale**2
        self.S_ = Z * np.sqrt(theta)  # (n, d)
        self.eps_ = factors.eps
        self.log_likelihood_ = factors.log_likelihood
        self.beta_ = float(y_mean + y_scale * factors.beta)
        self.sigma2_ = float(y_scale**2 * factors.sigma2)
        self.w_ = factors.w  # (n,)
        self.a_ = y_scale * factors.a  # (n,)
        self.L_inverse_ = invert_lower(factors.L)  # (n, n), lower triangle
        return self

    def mean(self, X: Floats) -> Floats:
        k = correlate(self.S_, self._scale(X))  # (n, N)
        mean: Floats = self.beta_ + self.a_ @ k  # (N,)
        return mean

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        """The standard deviation is that of a value at X without noise; it includes
        that of the estimated mean.
        """
        k = correlate(self.S_, self._scale(X))  # (n, N)
        mean = self.beta_ + self.a_ @ k  # (N,)
        V = blas.dtrmm(1.0, self.L_inverse_, k, lower=1, overwrite_b=1)  # (n, N)
        explained = np.einsum("ij,ij->j", V, V)  # (N,)
        # (N,): of the estimated mean
        trend = (1.0 - self.w_ @ V) ** 2 / (self.w_ @ self.w_)
        v = 1.0 + self.eps_ - explained + trend  # (N,)
        v = np.maximum(v, self.eps_)  # less can only be rounding
        return mean, np.sqrt(self.sigma2_ * v)

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation at each row given to `fit`, from the other rows
        with the same theta and sigma2.

        Closed form of Dubrule (1983); the mean is estimated each time. A single row has
        no other rows: NaN.
        """
        L_inverse = np.tril(self.L_inverse_)
        u = self.w_ @ L_inverse  # (n,) R^-1 1
        diagonal = np.einsum("ij,ij->j", L_inverse, L_inverse)  # (n,) of R^-1
        Q = diagonal - u**2 / (self.w_ @ self.w_)  # (n,)
        if len(Q) == 1:
            Q[:] = np.nan
        mean = self.y_ - self.a_ / Q  # (n,)
        std = np.sqrt(self.sigma2_ / Q)  # (n,)
        return mean[self.rows_], std[self.rows_]

    def believe(self, X: npt.ArrayLike, deviations: float = 0.0) -> Self:
        """The model as it will be if the values at X turn out to be their means plus so
        many standard deviations.

        theta and sigma2 stay. Believed means change no prediction of the mean, only
        variances.
        """
        if np.shape(X)[0] == 0:
            return self
        rows = np.asarray(X, dtype=np.float64)  # (q, d)
        mean, std = self.mean_and_std(rows)  # (q,), (q,)
        y = mean + deviations * std  # (q,)
        numbers = len(self.y_) + np.arange(len(y))  # (q,)
        scaled = np.vstack([self.S_, self._scale(rows)])  # (n + q, d)
        model = copy.copy(self)
        model.S_ = np.asfortranarray(scaled)
        model.y_ = np.concatenate([self.y_, y])
        model.rows_ = np.concatenate([self.rows_, numbers])
        unscaled = np.ones(len(self.theta_))
        centred = model.y_ - self.beta_  # (n + q,)
        factors = Likelihood(model.S_, centred, self.eta_).factorise(unscaled)
        if deviations == 0.0:
            model.a_ = np.concatenate([self.a_, np.zeros(len(y))])
        else:
            model.a_ = factors.a
            model.beta_ = self.beta_ + factors.beta
        model.eps_ = factors.eps
        model.w_ = factors.w
        model.L_inverse_ = invert_lower(factors.L)
        return model

    def _choose_theta(self, likelihood: Likelihood, x_scale: Floats) -> Floats:
        """(d,), for standardised inputs."""
        given = None if self.theta0 is None else standardise_theta(self.theta0, x_scale)
        if self.optimize and not self.constant_:
            if self.noise is None:
                return maximise_with_noise(likelihood, given, self.groups)
            return maximise(likelihood, given, self.groups)
        theta = cold_start(len(x_scale)) if given is None else given
        if self.noise is None and not self.constant_:
            likelihood.eta = best_noise(likelihood, theta)
        return theta

    def _scale(self, X: Floats) -> Floats:
        return (X - self.x_mean_) * np.sqrt(self.theta_)
