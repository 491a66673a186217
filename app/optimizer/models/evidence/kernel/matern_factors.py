"""Factors of the Matérn kernel, structures A and C, from matrix products of small rank.

Notation (see `scaled_coordinates` for z, t and share):
    slope   -3 de/dr, (r + r^2) exp(-r)

There is no exponential per pair: with r = z - t, (1 + r + r^2 / 3) exp(-r) is a sum of
three products of a function of z and one of t, and so is its mirror image for
r = t - z. Of the two, the one with r >= 0 is the smaller: e is the minimum of two
matrix products.
"""

import numpy as np

from app.optimizer.arrays import Floats

# (d, N, k) and (d, k, n): functions of z and of t, to be multiplied as matrices
Products = tuple[Floats, Floats]


def matern_left(z: Floats) -> Floats:
    """The functions of z in 1 - share + share (1 + r + r^2 / 3) exp(-r), r = z - t:
    (d, N, 4).
    """
    decay = np.exp(-z)
    left = [decay * (1.0 + z + z * z / 3.0), decay * (1.0 + z / 1.5), decay]
    return np.stack([*left, np.ones_like(z)], axis=2)


def matern_right(t: Floats, share: Floats) -> Floats:
    """The functions of t that `matern_left` is multiplied by, (d, 4, n)."""
    growth = share * np.exp(t)
    right = [growth, -t * growth, t * t * growth / 3.0]
    rest = np.broadcast_to(1.0 - share, t.shape)
    return np.stack([*right, rest], axis=1)


def slope_products(z: Floats, t: Floats, share: Floats) -> Products:
    """share (r + r^2) exp(-r), r = z - t, as three products."""
    decay = np.exp(-z)
    growth = share * np.exp(t)
    left = [decay * (z + z * z), -decay * (1.0 + 2.0 * z), decay]
    right = [growth, t * growth, t * t * growth]
    return np.stack(left, axis=2), np.stack(right, axis=1)


def length_products(z: Floats, t: Floats, share: Floats) -> Products:
    """share r (r + r^2) exp(-r), r = z - t, as four products."""
    decay = np.exp(-z)
    growth = share * np.exp(t)
    z2, t2 = z * z, t * t
    left = [
        decay * (z2 + z2 * z),
        -decay * (2.0 * z + 3.0 * z2),
        decay * (1.0 + 3.0 * z),
        -decay,
    ]
    right = [growth, t * growth, t2 * growth, t2 * t * growth]
    return np.stack(left, axis=2), np.stack(right, axis=1)
