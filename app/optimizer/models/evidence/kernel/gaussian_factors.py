"""Factors of the Gaussian kernel from matrix products of small rank, with few
exponentials.

Notation (see `scaled_coordinates` for z, t and share):
    h          largest |t|
    s (p,)     Chebyshev nodes of [-h, h]
    B (p, n)   Lagrange polynomials of the nodes at each t; columns sum to 1

As a function of t, exp(-(z - t)^2 / 2) is so smooth that the polynomial through p nodes
hardly differs from it: by at most 2.2 (h / 2)^p / sqrt(p!), whatever z is
(Cramér's inequality bounds the p-th derivative by 1.09 sqrt(p!)). So a factor
1 - share + share e is a product of (N, p) and (p, n): an exponential per row and node
instead of one per pair. The smaller the share, the fewer nodes suffice. With many, for
a short length-scale, the factor is the exponential of a product.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.linalg import blas
from scipy.special import gammaln

from app.optimizer.arrays import Floats

LOWEST_EXPONENT = -100.0  # far below it come denormal numbers, which are slow
# Largest error of an interpolated factor, far below the smallest nugget (1e-8)
ERROR = 1e-12
MOST_NODES = 80  # with more, exponentials of all pairs cost less


NODES = np.arange(1, MOST_NODES + 1)  # p
# ln(p-th root of ERROR sqrt(p!) / 2.2)
LOG_ROOTS = (np.log(ERROR / 2.2) + 0.5 * gammaln(NODES + 1.0)) / NODES


@dataclass(frozen=True, slots=True, eq=False)
class GaussianFactor:
    """The factor of one coordinate, for fixed t and any z."""

    nodes: Floats | None  # (p,); None: exponentials of all pairs
    right: Floats  # (n, p): B^T, or the functions of t in the exponent

    def left(self, z: Floats, share: float) -> Floats:
        """The functions of z (N,) that are multiplied by those of t, (N, p)."""
        if self.nodes is None:
            constant = np.full_like(z, np.log(share))
            return np.stack([constant - 0.5 * z * z, z, np.ones_like(z)], axis=1)
        correlation = np.exp(-0.5 * (z[:, None] - self.nodes) ** 2)
        return np.asarray(1.0 - share + share * correlation)

    def write(self, left: Floats, share: float, factor: Floats, first: int = 0) -> None:
        """Write the factor of these rows and the columns from `first` on; `left` and
        `factor` in C order.
        """
        # Into `factor`, as it is in Fortran order when transposed. With 16, 20, 24, …
        # nodes, np.matmul's library takes 1.3 to 1.7 times as long.
        right = self.right[first:].T
        blas.dgemm(1.0, right, left.T, c=factor.T, trans_a=1, overwrite_c=1)
        if self.nodes is None:
            np.maximum(factor, LOWEST_EXPONENT, out=factor)
            np.exp(factor, out=factor)
            factor += 1.0 - share


def gaussian_factor(t: Floats, share: float) -> GaussianFactor:
    """For the scaled coordinates t (n,) of one set of rows, centred."""
    h = float(np.abs(t).max(initial=0.0))
    p = fewest_nodes(h, share)
    if p is None:
        right = np.stack([np.ones_like(t), t, -0.5 * t * t], axis=1)
        return GaussianFactor(None, right)
    scaled = t / h if h > 0.0 else t
    right = chebvander(scaled, p - 1) @ _chebyshev_to_lagrange(p)
    return GaussianFactor(h * _chebyshev_nodes(p), right)


def fewest_nodes(h: float, share: float) -> int | None:
    """So many that a factor's error is at most `ERROR`; None: more than `MOST_NODES`."""
    largest = 2.0 * np.exp(
        LOG_ROOTS - np.log(share) / NODES
    )  # h that p nodes suffice for
    enough = np.flatnonzero(h <= largest)
    return int(NODES[enough[0]]) if len(enough) > 0 else None


@cache
def _chebyshev_nodes(p: int) -> Floats:
    """Of [-1, 1], (p,)."""
    return np.asarray(np.cos(np.pi * (np.arange(p) + 0.5) / p))


@cache
def _chebyshev_to_lagrange(p: int) -> Floats:
    """What makes the Lagrange polynomials of the nodes of Chebyshev's, (p, p)."""
    T = chebvander(_chebyshev_nodes(p), p - 1)
    T[:, 0] *= 0.5
    return np.ascontiguousarray((2.0 / p) * T.T)
