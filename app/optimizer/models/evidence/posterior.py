"""What a fitted model predicts.

Notation:
    k (n, N)     kernel of the training rows and N new ones; V = L^-1 k
    w (n,)       L^-1 1
    alpha (n,)   R^-1 (y - beta)
    mean         beta + k^T alpha
    variance     sigma2 (1 + eta - |V|^2 + (1 - w.V)^2 / (w.w)): the last term is what the estimated mean adds

Mean, variance and leave-one-out values are in the units of y as given.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.evidence.hyperparameters import (
    Coordinates,
    Hyperparameters,
    per_coordinate,
)
from app.optimizer.models.evidence.kernel.cross_kernel import CrossKernel
from app.optimizer.models.evidence.kernel.kernel_matrix import make_kernel_matrix
from app.optimizer.models.evidence.kernel.scaled_coordinates import scaled_coordinates
from app.optimizer.models.evidence.leave_one_out import LeaveOneOut, leave_one_out
from app.optimizer.models.evidence.penalised_likelihood import factorise
from app.optimizer.models.kriging.likelihood import invert_lower
from app.optimizer.models.kriging.standardise import is_constant

LN_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The model of one objective; it is not changed by anything that is called."""

    hyperparameters: Hyperparameters
    at: Coordinates
    eta: float  # what was added to the diagonal
    X: Floats  # (n, d)
    y: Floats  # (n,)
    kernel: CrossKernel  # of the training rows and new ones
    L_inverse: Floats  # (n, n), zeros above the diagonal
    w: Floats  # (n,)
    alpha: Floats  # (n,), in the units of y
    beta: float
    sigma2: float
    constant: bool  # whether all values are the same up to rounding
    log_likelihood: float  # of standardised values, without the prior
    evaluations: int = 0  # of the likelihood, by the fit

    def mean(self, X: Floats) -> Floats:
        """(N,)"""
        return self.beta + self.alpha @ self.kernel(X)

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of a value told at each row, (N,) and (N,)."""
        k = self.kernel(X)
        mean = self.beta + self.alpha @ k
        V = blas.dtrmm(1.0, self.L_inverse, k, lower=1, overwrite_b=1)  # (n, N)
        trend = (1.0 - self.w @ V) ** 2 / (self.w @ self.w)
        v = 1.0 + self.eta - np.einsum("ij,ij->j", V, V) + trend
        # Less than eta can only be rounding
        return mean, np.sqrt(self.sigma2 * np.maximum(v, self.eta))

    def leave_one_out(self) -> LeaveOneOut:
        """Of every training row."""
        return leave_one_out(self.L_inverse, self.w, self.alpha, self.sigma2, self.y)

    def believe(self, X: Floats, deviations: float = 0.0) -> "Posterior":
        """The model as it would be had the rows X been told their means plus so many
        standard deviations.

        Hyperparameters and sigma2 stay. Believed means change no prediction of the
        mean, only variances.
        """
        if len(X) == 0:
            return self
        mean, std = self.mean_and_std(X)
        bordered = self._border(X)
        y = np.append(self.y, mean + deviations * std)
        if deviations == 0.0:
            alpha = np.append(self.alpha, np.zeros(len(X)))
            return replace(bordered, y=y, alpha=alpha)
        z = bordered.L_inverse @ y
        beta = float(bordered.w @ z) / float(bordered.w @ bordered.w)
        alpha = (z - beta * bordered.w) @ bordered.L_inverse
        return replace(bordered, y=y, alpha=alpha, beta=beta)

    def _border(self, X: Floats) -> "Posterior":
        """With more rows; y, alpha and beta are still those of the old ones."""
        n, q = len(self.y), len(X)
        structure = self.hyperparameters.structure
        Z = scaled_coordinates(structure, self.at, X)  # (d, q)
        k = self.kernel(X)  # (n, q)
        own = CrossKernel(structure, self.at, Z)(X)  # (q, q)
        V = self.L_inverse @ k  # (n, q)
        corner = _inverse_factor(own - V.T @ V, self.eta)  # (q, q)
        L_inverse = np.zeros((n + q, n + q), order="F")
        L_inverse[:n, :n] = self.L_inverse
        L_inverse[n:, :n] = -corner @ (V.T @ self.L_inverse)
        L_inverse[n:, n:] = corner
        w = np.append(self.w, corner @ (1.0 - V.T @ self.w))
        return replace(
            self,
            X=np.vstack([self.X, X]),
            kernel=CrossKernel(structure, self.at, np.hstack([self.kernel.Z, Z])),
            L_inverse=L_inverse,
            w=w,
        )


def _inverse_factor(S: Floats, eta: float) -> Floats:
    """L^-1 of S + eta I; eta grows tenfold until there is an L, as for rows that repeat
    others.
    """
    while True:
        try:
            L = np.linalg.cholesky(S + eta * np.eye(len(S)))
        except np.linalg.LinAlgError:
            eta *= 10.0
        else:
            return np.asarray(np.linalg.solve(L, np.eye(len(S))))


def condition(
    hyperparameters: Hyperparameters, X: Floats, y: Floats, groups: Ints
) -> Posterior:
    """The posterior of all rows at given hyperparameters."""
    t, y_mean, y_scale = standardise(y)
    structure, p = hyperparameters.structure, np.array(hyperparameters.values)
    at = per_coordinate(structure, p, groups)
    Z = scaled_coordinates(structure, at, X)  # (d, n)
    matrix = make_kernel_matrix(structure, X)
    matrix.evaluate(at)
    R = np.empty((len(y), len(y)), order="F")
    factors = factorise(R, matrix.copy_to, at.eta, t)
    return Posterior(
        hyperparameters=hyperparameters,
        at=at,
        eta=factors.eta,
        X=X,
        y=y,
        kernel=CrossKernel(structure, at, Z),
        L_inverse=np.asfortranarray(np.tril(invert_lower(factors.L))),
        w=factors.w,
        alpha=y_scale * factors.alpha,
        beta=y_mean + y_scale * factors.beta,
        sigma2=y_scale**2 * factors.sigma2,
        constant=not t.any(),
        log_likelihood=-factors.value - 0.5 * len(y) * (LN_2PI + 1.0),
    )


def standardise(y: Floats) -> tuple[Floats, float, float]:
    """Values with mean 0 and standard deviation 1, the mean and the deviation; constant
    values become 0.
    """
    mean = float(y.mean())
    if bool(is_constant(y)):
        return np.zeros(len(y)), mean, 1.0
    deviation = float(y.std())
    return (y - mean) / deviation, mean, deviation
