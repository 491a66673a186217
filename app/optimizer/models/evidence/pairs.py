"""The kernel of all pairs of training rows, and sums over its derivatives, on packed
lower triangles.

Notation (q = n (n - 1) / 2 pairs i > j, column by column):
    rows, columns (q,)       i and j of each pair
    factors (d, q)           1 / b + e of the last evaluation: K is their product times that of the shares
    slopes (d, q)            of the last evaluation, of A and C
    share (d,)               b / (1 + b)
    M (q,)                   W * K with W = dNLL / dK
    T (q,)                   M / factor of one coordinate, then T * slope
"""

from abc import ABC, abstractmethod

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.hyperparameters import Coordinates, Structure
from app.optimizer.models.evidence.kernels import (
    scale,
    scaled_coordinates,
    write_decay,
    write_gaussian,
    write_matern,
)
from app.optimizer.models.evidence.warping import warp_derivatives

# coordinates whose shares are multiplied at once: the product of more could underflow
TOGETHER = 32

Gradient = tuple[Floats, ...]  # (d,) each


class Pairs(ABC):
    """Each evaluation overwrites the arrays of the one before.

    A gradient is that of the last evaluation.
    """

    at: Coordinates
    Z: Floats  # (d, n)
    scales: Floats  # (d,)

    def __init__(self, structure: Structure, X: Floats) -> None:
        n, d = X.shape
        self.structure = structure
        self.X = X
        self.columns, self.rows = np.triu_indices(n, 1)
        self.counts = np.arange(n)[::-1]  # pairs of each column
        q = len(self.rows)
        self.K = np.empty(q)
        self.factors = np.empty((d, q))
        self.ones = np.ones(q)  # a product with it is faster than a sum
        self.T = np.empty(q)
        self.spare = np.empty(q)

    def kernel(self, at: Coordinates) -> Floats:
        """K of every pair, (q,)."""
        self.at = at
        self.Z = scaled_coordinates(self.structure, at, self.X)
        self.scales = scale(self.structure, at)
        share = at.weights / (1.0 + at.weights)
        self.K.fill(1.0)
        for k in range(len(share)):
            if k % TOGETHER == 0:
                self.K *= np.prod(share[k : k + TOGETHER])
            self._write(k, float(1.0 / at.weights[k]))
            self.K *= self.factors[k]
        return self.K

    def gradient(self, M: Floats) -> Gradient:
        """Sums of W dK over the pairs, by the logarithms of l, b and, if the structure
        has them, a and c.

        dK / d ln b = K (1 - share) (1 - 1 / (share factor));  dK / d ln l = K / factor
        * de / d ln l.
        """
        share = self.at.weights / (1.0 + self.at.weights)
        sums = np.empty(len(share))  # of T
        for k in range(len(share)):
            np.divide(M, self.factors[k], out=self.T)
            sums[k] = self.T @ self.ones
            self._reduce(k)
        weights = (1.0 - share) * (M @ self.ones - sums / share)
        lengths, *warps = self._chain(M)
        return (lengths, weights, *warps)

    @abstractmethod
    def _write(self, k: int, rest: float) -> None:
        """Write factors and slopes of coordinate k; rest is 1 / b."""

    @abstractmethod
    def _reduce(self, k: int) -> None:
        """Keep the sums over T that `_chain` needs; T can be overwritten."""

    @abstractmethod
    def _chain(self, M: Floats) -> Gradient:
        """The derivatives by all but b."""


class GaussianPairs(Pairs):
    """de / d ln l = e r^2, and e / factor = 1 - (1 / b) / factor: no slope is kept."""

    def __init__(self, structure: Structure, X: Floats) -> None:
        super().__init__(structure, X)
        self.squares = distances(X) ** 2  # (d, q)
        self.sums = np.empty(X.shape[1])  # of T * squares

    def _write(self, k: int, rest: float) -> None:
        e = self.factors[k]
        write_gaussian(self.squares[k], 0.5 * self.scales[k] ** 2, e)
        e += rest

    def _reduce(self, k: int) -> None:
        self.sums[k] = self.T @ self.squares[k]

    def _chain(self, M: Floats) -> Gradient:
        sums = self.squares @ M - self.sums / self.at.weights
        return (self.scales**2 * sums,)


class MaternPairs(Pairs):
    """slope = -3 de/dr = r (1 + r) exp(-r); de / d ln l = r slope / 3."""

    def __init__(self, structure: Structure, X: Floats) -> None:
        super().__init__(structure, X)
        self.distances = distances(X)  # (d, q)
        self.slopes = np.empty(self.factors.shape)
        self.sums = np.empty(X.shape[1])  # of T * slope * distance

    def _write(self, k: int, rest: float) -> None:
        r = np.multiply(self.distances[k], self.scales[k], out=self.T)
        decay = write_decay(
            self.Z[k], self.rows, self.counts, self.factors[k], self.spare
        )
        write_matern(r, decay, self.factors[k], self.slopes[k])
        self.factors[k] += rest

    def _reduce(self, k: int) -> None:
        self.T *= self.slopes[k]
        self.sums[k] = self.T @ self.distances[k]

    def _chain(self, _M: Floats) -> Gradient:
        return (self.scales * self.sums / 3.0,)


class WarpedPairs(Pairs):
    """The slope of `MaternPairs` with the sign of u_i - u_j.

    Its sums over the pairs (i, .) minus those over (., i) are the derivatives by the
    coordinate of row i; the chain rule leads from there to l, a and c.
    """

    def __init__(self, structure: Structure, X: Floats) -> None:
        super().__init__(structure, X)
        n, d = X.shape
        self.slopes = np.empty(self.factors.shape)
        self.margins = np.zeros((d, n))
        # Where each column begins
        self.starts = np.flatnonzero(np.diff(self.columns, prepend=-1))
        # (d, q): a warp changes no order
        self.signs = np.empty(self.factors.shape)
        for k in range(d):
            np.sign(X[self.rows, k] - X[self.columns, k], out=self.signs[k])

    def _write(self, k: int, rest: float) -> None:
        np.take(self.Z[k], self.rows, out=self.T, mode="clip")
        self.T -= np.repeat(self.Z[k], self.counts)
        r = np.abs(self.T, out=self.T)
        decay = write_decay(
            self.Z[k], self.rows, self.counts, self.factors[k], self.spare
        )
        write_matern(r, decay, self.factors[k], self.slopes[k])
        self.factors[k] += rest
        self.slopes[k] *= self.signs[k]

    def _reduce(self, k: int) -> None:
        self.T *= self.slopes[k]
        if len(self.rows) > 0:
            self.margins[k] = np.bincount(self.rows, self.T)
            self.margins[k, :-1] -= np.add.reduceat(self.T, self.starts)

    def _chain(self, _M: Floats) -> Gradient:
        by_z = self.margins / -3.0  # (d, n)
        by_u = by_z * self.scales[:, None]
        # (n, d) each
        by_log_a, by_log_c = warp_derivatives(self.X, self.at.a, self.at.c)
        lengths = -np.einsum("ki,ki->k", by_z, self.Z)
        return (
            lengths,
            np.einsum("ki,ik->k", by_u, by_log_a),
            np.einsum("ki,ik->k", by_u, by_log_c),
        )


PAIRS: dict[Structure, type[Pairs]] = {
    Structure.MATERN: MaternPairs,
    Structure.GAUSSIAN: GaussianPairs,
    Structure.WARPED_MATERN: WarpedPairs,
}


def make_pairs(structure: Structure, X: Floats) -> Pairs:
    return PAIRS[structure](structure, X)


def distances(X: Floats) -> Floats:
    """|x_ik - x_jk| of every pair and coordinate, (d, q)."""
    n, d = X.shape
    columns, rows = np.triu_indices(n, 1)
    result = np.empty((d, len(rows)))
    for k in range(d):
        np.abs(X[rows, k] - X[columns, k], out=result[k])
    return result
