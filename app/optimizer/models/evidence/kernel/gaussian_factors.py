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
instead of one per pair. With many nodes, for a short length-scale, it is the
exponential of a product.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.special import gammaln

from app.optimizer.arrays import Floats

LOWEST_EXPONENT = -100.0  # far below it come denormal numbers, which are slow
# Largest error of an interpolated correlation, far below the smallest nugget (1e-8)
ERROR = 1e-12
MOST_NODES = 80  # with more, exponentials of all pairs cost less


def _largest_half_widths() -> Floats:
    """The largest h for which p = 1, 2, … nodes suffice."""
    p = np.arange(1, MOST_NODES + 1)
    log_factorials: Floats = gammaln(p + 1.0)
    return np.asarray(2.0 * np.exp((np.log(ERROR / 2.2) + 0.5 * log_factorials) / p))


HALF_WIDTHS = _largest_half_widths()


@dataclass(frozen=True, slots=True, eq=False)
class GaussianFactor:
    """The factor of one coordinate, for fixed t and any z."""

    nodes: Floats | None  # (p,); None: exponentials of all pairs
    right: Floats  # (p, n): B, or the functions of t in the exponent

    def left(self, z: Floats, share: float) -> Floats:
        """The functions of z (N,) that are multiplied by `right`, (N, p)."""
        if self.nodes is None:
            constant = np.full_like(z, np.log(share))
            return np.stack([constant - 0.5 * z * z, z, np.ones_like(z)], axis=1)
        correlation = np.exp(-0.5 * (z[:, None] - self.nodes) ** 2)
        return np.asarray(1.0 - share + share * correlation)

    def write(self, left: Floats, share: float, factor: Floats, first: int = 0) -> None:
        """Write the factor of these rows and the columns from `first` on."""
        np.matmul(left, self.right[:, first:], out=factor)
        if self.nodes is None:
            np.maximum(factor, LOWEST_EXPONENT, out=factor)
            np.exp(factor, out=factor)
            factor += 1.0 - share


def gaussian_factor(t: Floats) -> GaussianFactor:
    """For the scaled coordinates t (n,) of one set of rows, centred."""
    h = float(np.abs(t).max(initial=0.0))
    p = 1 + int(np.searchsorted(HALF_WIDTHS, h))
    if p > MOST_NODES:
        right = np.stack([np.ones_like(t), t, -0.5 * t * t])
        return GaussianFactor(None, right)
    angles = np.pi * (np.arange(p) + 0.5) / p
    s = np.cos(angles)  # of [-1, 1]
    T = chebvander(s, p - 1)  # (p, p)
    T[:, 0] *= 0.5
    scaled = t / h if h > 0.0 else t
    B = (2.0 / p) * T @ chebvander(scaled, p - 1).T
    return GaussianFactor(h * s, B)
