"""The likelihood of an ordinary kriging model and its gradient: one Cholesky, one
inverse and one n*n*d product.

Notation (inputs and outputs standardised):
    X (n, d)     inputs                              y (n,)     outputs
    theta (d,)   coefficients of the correlation     S (n, d)   X * sqrt(theta)
    K (n, n)     exp(-sum_k theta_k (x_k - x'_k)^2)  R (n, n)   K + eps I = L L^T
    w, z (n,)    L^-1 1 and L^-1 y                   beta       (w.z) / (w.w), the estimated mean
    a (n,)       R^-1 (y - beta)                     sigma2     |z - beta w|^2 / n, the estimated process variance

Only lower triangles are computed, in Fortran order and in place: the part above the
diagonal of an (n, n) array here is finite and has no meaning.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from app.optimizer.arrays import Floats

Evaluation = tuple[float, Floats]  # a value and its gradient

EPS = 1e-8
# Exp(-80) = 1.8e-35; far below it come denormal numbers, which are slow
LOWEST_EXPONENT = -80.0
# instead of the 0 of constant outputs, so that logarithms and ratios of variances exist
LEAST_VARIANCE = 1e-20
# columns worked on at a time, so that a panel stays in the processor's cache from one
# pass to the next
PANEL = 128
LEAF = 48  # the largest triangle given to LAPACK's own inversion


@dataclass(frozen=True, slots=True)
class Factors:
    """Everything that follows from the data once theta is given."""

    L: Floats  # (n, n), lower triangle
    eps: float
    w: Floats  # (n,)
    a: Floats  # (n,)
    beta: float
    sigma2: float
    log_likelihood: float


class Likelihood:
    """The likelihood of one data set, as a function of log theta; each call overwrites
    its two (n, n) arrays.
    """

    def __init__(self, X: Floats, y: Floats, eta: float = 0.0) -> None:
        n = len(X)
        self.eta = eta  # the variance of noise, as a share of sigma2
        self.X = X
        self.y = y
        self.K = np.zeros((n, n), order="F")
        self.R = np.zeros((n, n), order="F")
        self.evaluations = 0
        self.eta_slope = 0.0  # of the last call, by log eta

    def __call__(self, log_theta: Floats) -> Evaluation:
        """The negative log-likelihood and its gradient, for a minimiser."""
        self.evaluations += 1
        theta = np.exp(log_theta)
        factors = self.factorise(theta)
        W = invert_lower(factors.L)  # (n, n) L^-1, in the place of L
        W = lapack.dlauum(W, lower=1, overwrite_c=1)[0]  # (n, n) R^-1 = L^-T L^-1
        W = blas.dsyr(-1.0 / factors.sigma2, factors.a, lower=1, a=W, overwrite_a=1)
        self.eta_slope = 0.5 * self.eta * float(np.trace(W))
        S = self.X * np.sqrt(theta)  # (n, d)
        return -factors.log_likelihood, -gradient(S, self.K, W)

    def factorise(self, theta: Floats) -> Factors:
        """All but the gradient, at half the cost; L is in the place of R, until the
        next call.
        """
        S = self.X * np.sqrt(theta)  # (n, d)
        correlate_lower(S, self.K)
        L, eps = cholesky(self.K, self.R, self.eta)
        return solve(L, eps, self.y)


def correlate_lower(S: Floats, K: Floats) -> None:
    """Write the lower triangle of exp(-|s - s'|^2) into K."""
    n = len(S)
    squares = np.einsum("ij,ij->i", S, S)  # (n,)
    blas.dsyrk(2.0, S, c=K, lower=1, overwrite_c=1)
    # Now 2 s.s' - |s|^2 - |s'|^2
    blas.dsyr2(-1.0, squares, np.ones(n), lower=1, a=K, overwrite_a=1)
    for j in range(0, n, PANEL):
        block = K[j:, j : j + PANEL]
        np.clip(block, LOWEST_EXPONENT, 0.0, out=block)
        np.exp(block, out=block)


def correlate(S: Floats, T: Floats) -> Floats:
    """exp(-|s - t|^2) of every pair, (n, N) in Fortran order."""
    S_squares = np.einsum("ij,ij->i", S, S)  # (n,)
    T_squares = np.einsum("ij,ij->i", T, T)  # (N,)
    A = np.column_stack([S, S_squares, np.ones(len(S))])  # (n, d + 2)
    B = np.column_stack([2.0 * T, -np.ones(len(T)), -T_squares])  # (N, d + 2)
    k: Floats = blas.dgemm(1.0, A, B, trans_b=1)  # 2 s.t - |s|^2 - |t|^2
    np.clip(k, LOWEST_EXPONENT, 0.0, out=k)
    np.exp(k, out=k)
    return k


def cholesky(K: Floats, R: Floats, eta: float = 0.0) -> tuple[Floats, float]:
    """L of K + (eta + eps) I, in the place of R, and eps: 1e-8, times 10 until L
    exists.

    The same K has the same eps.
    """
    eps = EPS
    while eps < 1.0:
        copy_lower(K, R)
        np.fill_diagonal(R, 1.0 + eps + eta)
        L, info = lapack.dpotrf(R, lower=1, clean=0, overwrite_a=1)
        # OpenBLAS does not report NaN, which reaches the last corner
        finite = np.isfinite(L[-1, -1])
        if info == 0 and finite:
            return L, eps
        eps *= 10.0
    raise np.linalg.LinAlgError(
        "the correlation matrix has no Cholesky factor; are inputs and theta finite?"
    )


def solve(L: Floats, eps: float, y: Floats) -> Factors:
    """Mean and variance that maximise the likelihood."""
    n = len(y)
    w = blas.dtrsv(L, np.ones(n), lower=1, overwrite_x=1)  # (n,)
    z = blas.dtrsv(L, y, lower=1)  # (n,)
    beta = float(w @ z) / float(w @ w)
    residual = z - beta * w  # (n,)
    sigma2 = max(float(residual @ residual) / n, LEAST_VARIANCE)
    log_determinant = 2.0 * float(np.log(np.diagonal(L)).sum())
    log_variance = n * np.log(2.0 * np.pi * sigma2)
    log_likelihood = -0.5 * (log_variance + log_determinant + n)
    a = blas.dtrsv(L, residual, lower=1, trans=1, overwrite_x=1)  # (n,)
    return Factors(L, eps, w, a, beta, sigma2, log_likelihood)


def gradient(S: Floats, K: Floats, W: Floats) -> Floats:
    """The derivative by log theta_k: the sum over i > j of M_ij (s_ik - s_jk)^2 with M
    = K * W.

    W = R^-1 - a a^T / sigma2 comes in and M takes its place. Multiplied out, no (n, n,
    d) array is needed.
    """
    multiply_lower(K, W)
    # The distance of an input to itself is 0: avoids a cancellation
    np.fill_diagonal(W, 0.0)
    ones = np.ones(len(S))
    row_sums = blas.dtrmv(W, ones, lower=1)  # (n,)
    column_sums = blas.dtrmv(W, ones, lower=1, trans=1)  # (n,)
    T = blas.dtrmm(1.0, W, S, lower=1)  # (n, d)
    squares = (row_sums + column_sums) @ (S * S)  # (d,)
    products = np.einsum("ik,ik->k", S, T)  # (d,)
    result: Floats = squares - 2.0 * products
    return result


def invert_lower(L: Floats) -> Floats:
    """L^-1 in the place of L, by halves: products of triangles are fast; at n = 545
    dtrtri needs twice the time.
    """
    n = len(L)
    if n <= LEAF:
        L[...] = lapack.dtrtri(L, lower=1)[0]
        return L
    h = n // 2
    first = invert_lower(L[:h, :h])
    second = invert_lower(L[h:, h:])
    below = blas.dtrmm(-1.0, second, L[h:, :h], lower=1)  # (n - h, h)
    L[h:, :h] = blas.dtrmm(1.0, first, below, side=1, lower=1, overwrite_b=1)
    return L


def copy_lower(source: Floats, target: Floats) -> None:
    for j in range(0, len(source), PANEL):
        panel = slice(j, j + PANEL)
        target[j:, panel] = source[j:, panel]


def multiply_lower(source: Floats, target: Floats) -> None:
    for j in range(0, len(source), PANEL):
        panel = slice(j, j + PANEL)
        target[j:, panel] *= source[j:, panel]
