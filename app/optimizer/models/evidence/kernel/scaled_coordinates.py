"""The kernel K(x, x') = prod_k (1 + b_k e_k) / (1 + b_k): constant, additive and
interaction parts in one product.

Notation:
    e       correlation along one coordinate, a function of the scaled distance r >= 0
            A, C: (1 + r + r^2 / 3) exp(-r), r = sqrt(5) |u - u'| / l
            B: exp(-r^2 / 2), r = |u - u'| / l
    u       the coordinate: x itself, for C warped
    z, t    scaled coordinates of two sets of rows: r = |z - t|; centred, so that sums
            lose little by rounding
    share   b / (1 + b); a factor of K is (1 + b e) / (1 + b) = 1 - share + share e
"""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.hyperparameters import Coordinates, Structure
from app.optimizer.models.evidence.kernel.warping import warp

ROOT5 = float(np.sqrt(5.0))


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
