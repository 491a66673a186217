"""The kernel K(x, x') = prod_k (1 + b_k e_k) / (1 + b_k): constant, additive and
interaction parts in one product.

Notation:
    e       correlation along one coordinate, a function of the scaled distance r >= 0
            A, C: (1 + r + r^2 / 3) exp(-r), r = sqrt(5) |u - u'| / l      B: exp(-r^2 / 2), r = |u - u'| / l
    u       the coordinate: x itself, for C warped
    z, t    scaled coordinates of two sets of rows: r = |z - t|; centred, so that the sums below lose little by rounding
    share   b / (1 + b); a factor of K is (1 + b e) / (1 + b) = 1 - share + share e
    slope   -3 de/dr of A and C, (r + r^2) exp(-r)

A factor comes from matrix products of small rank, with no exponential per pair for A and C: with r = z - t,
(1 + r + r^2 / 3) exp(-r) is a sum of three products of a function of z and one of t, and so is its mirror image for
r = t - z. Of the two, the one with r >= 0 is the smaller: e is the minimum of two matrix products. For B,
-r^2 / 2 = -z^2 / 2 + z t - t^2 / 2 is a matrix product.
"""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.hyperparameters import Coordinates, Structure
from app.optimizer.models.evidence.warping import warp

ROOT5 = float(np.sqrt(5.0))
LOWEST_EXPONENT = -100.0  # far below it come denormal numbers, which are slow
# (d, N, k) and (d, k, n): functions of z and of t, to be multiplied as matrices
Products = tuple[Floats, Floats]


def scale(structure: Structure, at: Coordinates) -> Floats:
    """What turns a distance along a coordinate into r, (d,)."""
    return 1.0 / at.lengths if structure is Structure.GAUSSIAN else ROOT5 / at.lengths


def scaled_coordinates(structure: Structure, at: Coordinates, X: Floats) -> Floats:
    """z (d, n): distances between columns are the r of each coordinate."""
    if structure.warped:
        X = warp(X, at.a, at.c)
    return np.ascontiguousarray((X * scale(structure, at)).T)


def centre(Z: Floats) -> Floats:
    """The middle of each row of Z, (d, 1)."""
    return np.asarray(0.5 * (Z.min(axis=1) + Z.max(axis=1)))[:, None]


def shares(at: Coordinates) -> Floats:
    """(d, 1)"""
    return np.asarray(at.weights / (1.0 + at.weights))[:, None]


def matern_products(z: Floats, t: Floats, share: Floats) -> Products:
    """1 - share + share (1 + r + r^2 / 3) exp(-r), r = z - t, as four products."""
    decay = np.exp(-z)
    growth = share * np.exp(t)
    left = [decay * (1.0 + z + z * z / 3.0), decay * (1.0 + z / 1.5), decay]
    right = [growth, -t * growth, t * t * growth / 3.0]
    ones, rest = np.ones_like(z), np.broadcast_to(1.0 - share, t.shape)
    return np.stack([*left, ones], axis=2), np.stack([*right, rest], axis=1)


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


def exponent_products(z: Floats, t: Floats, share: Floats) -> Products:
    """ln share - r^2 / 2 as three products."""
    left = [np.ones_like(z), z, -0.5 * z * z]
    right = [np.log(share) - 0.5 * t * t, t, np.ones_like(t)]
    return np.stack(left, axis=2), np.stack(right, axis=1)


def write_gaussian(left: Floats, right: Floats, share: float, factor: Floats) -> None:
    """The factor of one coordinate of B, (N, n), from its exponent's products."""
    np.matmul(left, right, out=factor)
    np.maximum(factor, LOWEST_EXPONENT, out=factor)
    np.exp(factor, out=factor)
    factor += 1.0 - share
