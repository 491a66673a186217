"""What a fit minimises: the negative log-likelihood with mean and variance profiled
out, plus the prior's penalty.

Notation (outputs standardised):
    K, R (n, n)   kernel; R = K + eta I = L L^T
    w, z (n,)     L^-1 1 and L^-1 y
    beta          (w.z) / (w.w), the estimated mean
    sigma2        |z - beta w|^2 / n, the estimated process variance
    alpha (n,)    R^-1 (y - beta)
    W (n, n)      R^-1 - alpha alpha^T / sigma2
    NLL(p)        (n/2) ln sigma2 + (1/2) ln |R| + (1/2) sum ((p - mean) / sd)^2

(n, n) arrays are in Fortran order; only their lower triangles mean anything.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.evidence.hyperparameters import (
    Coordinates,
    Prior,
    Structure,
    number_of_groups,
    per_coordinate,
)
from app.optimizer.models.evidence.kernel.kernel_matrix import (
    Gradient,
    make_kernel_matrix,
)
from app.optimizer.models.kriging.likelihood import LEAST_VARIANCE, invert_lower

Evaluation = tuple[float, Floats]  # a value and its gradient
LARGEST_NUGGET = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """What the data determine once the hyperparameters are given."""

    L: Floats  # (n, n), lower triangle
    eta: float
    w: Floats  # (n,)
    alpha: Floats  # (n,)
    beta: float
    sigma2: float
    value: float  # of the objective without the prior's penalty


class PenalisedLikelihood:
    """The objective of one data set and structure as a function of p; each call
    overwrites its arrays.
    """

    def __init__(
        self, structure: Structure, X: Floats, y: Floats, prior: Prior, groups: Ints
    ) -> None:
        n = len(y)
        self.structure = structure
        self.y = y
        self.prior = prior
        self.groups = groups
        numbers = np.arange(number_of_groups(groups))[:, None]
        self.membership = (numbers == groups).astype(np.float64)  # (g, d)
        self.kernel = make_kernel_matrix(structure, X)
        self.R = np.zeros((n, n), order="F")
        self.sigma2 = 0.0  # of the last call

    def __call__(self, p: Floats) -> Evaluation:
        """The value and its gradient, for a minimiser."""
        at = per_coordinate(self.structure, p, self.groups)
        factors = self.at(at)
        self.sigma2 = factors.sigma2
        W = invert_lower(factors.L)  # L^-1, in the place of R
        W = lapack.dlauum(W, lower=1, overwrite_c=1)[0]  # R^-1 = L^-T L^-1
        W = blas.dsyr(-1.0 / factors.sigma2, factors.alpha, lower=1, a=W, overwrite_a=1)
        by_eta = 0.5 * factors.eta * float(np.trace(W))
        penalty, by_penalty = self.prior.penalty(p)
        gradient = np.concatenate([*self._by_group(self.kernel.gradient(W)), [by_eta]])
        return factors.value + penalty, gradient + by_penalty

    def value(self, p: Floats) -> float:
        """Without the gradient, at half the cost."""
        at = per_coordinate(self.structure, p, self.groups)
        return self.at(at).value + self.prior.penalty(p)[0]

    def at(self, at: Coordinates) -> Factors:
        """L takes the place of R, until the next call; eta grows tenfold until there is
        an L.
        """
        self.kernel.evaluate(at)
        return factorise(self.R, self.kernel.copy_to, at.eta, self.y)

    def _by_group(self, by_coordinate: Gradient) -> list[Floats]:
        return [self.membership @ kind for kind in by_coordinate]


def factorise(
    R: Floats, write_kernel: Callable[[Floats], None], eta: float, y: Floats
) -> Factors:
    """L takes the place of R (n, n), below whose diagonal `write_kernel` writes K; eta
    grows tenfold until there is an L.
    """
    while eta < LARGEST_NUGGET:
        write_kernel(R)
        np.fill_diagonal(R, 1.0 + eta)
        L, info = lapack.dpotrf(R, lower=1, clean=0, overwrite_a=1)
        # OpenBLAS does not report NaN, which reaches the last corner
        if info == 0 and np.isfinite(L[-1, -1]):
            return solve(L, eta, y)
        eta *= 10.0
    raise np.linalg.LinAlgError(
        "the kernel matrix has no Cholesky factor; are inputs and hyperparameters finite?"
    )


def solve(L: Floats, eta: float, y: Floats) -> Factors:
    """Mean and variance profiled out."""
    n = len(y)
    w = blas.dtrsv(L, np.ones(n), lower=1, overwrite_x=1)
    z = blas.dtrsv(L, y, lower=1)
    beta = float(w @ z) / float(w @ w)
    residual = z - beta * w
    sigma2 = max(float(residual @ residual) / n, LEAST_VARIANCE)
    half_log_determinant = float(np.log(np.diagonal(L)).sum())
    alpha = blas.dtrsv(L, residual, lower=1, trans=1, overwrite_x=1)
    return Factors(
        L,
        eta,
        w,
        alpha,
        beta,
        sigma2,
        0.5 * n * float(np.log(sigma2)) + half_log_determinant,
    )
