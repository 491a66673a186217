"""The kernel K(x, x') = prod_k (1 + b_k e_k) / (1 + b_k): constant, additive and
interaction parts in one product.

Notation:
    e       correlation along one coordinate, a function of the scaled distance r >= 0
            A, C: (1 + r + r^2 / 3) exp(-r), r = sqrt(5) |u - u'| / l      B: exp(-r^2 / 2), r = |u - u'| / l
    u       the coordinate: x itself, for C warped
    share   b / (1 + b); (1 + b e) / (1 + b) = 1 - share + share e
    slope   -de/dr
    decay   exp(-r) of A and C. exp(-|z - z'|) is the smaller of exp(z') / exp(z) and its reciprocal: with exp of each
            coordinate's n numbers, no exponential per pair is needed; numpy's takes half of the time otherwise.
"""

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.evidence.hyperparameters import Coordinates, Structure
from app.optimizer.models.evidence.warping import warp

ROOT5 = float(np.sqrt(5.0))
LOWEST_EXPONENT = -100.0  # far below it come denormal numbers, which are slow
# elements of a temporary array in `cross_kernel`: it stays in the processor's cache
BLOCK = 16_384


def scale(structure: Structure, at: Coordinates) -> Floats:
    """What turns a distance along a coordinate into r, (d,)."""
    return 1.0 / at.lengths if structure is Structure.GAUSSIAN else ROOT5 / at.lengths


def scaled_coordinates(structure: Structure, at: Coordinates, X: Floats) -> Floats:
    """z (d, n): distances between columns are the r of each coordinate."""
    if structure.warped:
        X = warp(X, at.a, at.c)
    return np.ascontiguousarray((X * scale(structure, at)).T)


def write_decay(
    z: Floats, rows: Ints, counts: Ints, spare: Floats, decay: Floats
) -> Floats:
    """exp(-|z_i - z_j|) of every pair of coordinates; j is repeated counts[j] times."""
    np.take(np.exp(-z), rows, out=decay, mode="clip")
    # A third of the time of taking by columns
    decay *= np.repeat(np.exp(z), counts)
    np.divide(1.0, decay, out=spare)
    return np.minimum(decay, spare, out=decay)


def write_matern(r: Floats, decay: Floats, e: Floats, slope: Floats | None) -> None:
    """e, and 3 times the slope: r (1 + r) exp(-r); r and decay are overwritten."""
    r_decay = np.multiply(r, decay, out=e)
    r *= r_decay  # r^2 exp(-r)
    if slope is not None:
        np.add(r_decay, r, out=slope)
    e += decay
    r *= 1.0 / 3.0
    e += r


def write_gaussian(squares: Floats, factor: float, e: Floats) -> None:
    """exp(-r^2 / 2) where r^2 / 2 = squares * factor, with squares of distances in the
    unit cube.
    """
    np.multiply(squares, -factor, out=e)
    if -factor < LOWEST_EXPONENT:  # then some exponents can be below it
        np.maximum(e, LOWEST_EXPONENT, out=e)
    np.exp(e, out=e)


def cross_kernel(structure: Structure, at: Coordinates, Z: Floats, X: Floats) -> Floats:
    """K of training rows, given as scaled coordinates Z (d, n), and new rows X (N, d):
    (n, N) in Fortran order.
    """
    n, N = Z.shape[1], len(X)
    new = scaled_coordinates(structure, at, X)  # (d, N)
    K = np.ones((N, n))
    width = max(1, BLOCK // max(n, 1))
    for begin in range(0, N, width):
        _multiply_factors(
            structure, at, Z, new[:, begin : begin + width], K[begin : begin + width]
        )
    return K.T


def _multiply_factors(
    structure: Structure, at: Coordinates, Z: Floats, new: Floats, K: Floats
) -> None:
    """Multiply the block K (N, n) by the factors of all coordinates."""
    share = at.weights / (1.0 + at.weights)  # (d,)
    r, decay, factor = np.empty_like(K), np.empty_like(K), np.empty_like(K)
    for k in range(len(Z)):
        np.subtract(new[k][:, None], Z[k][None, :], out=r)
        if structure is Structure.GAUSSIAN:
            np.multiply(r, r, out=r)
            np.minimum(r, -2.0 * LOWEST_EXPONENT, out=r)
            write_gaussian(r, 0.5, factor)
        else:
            np.abs(r, out=r)
            np.multiply(np.exp(-new[k])[:, None], np.exp(Z[k])[None, :], out=decay)
            np.minimum(decay, np.divide(1.0, decay, out=factor), out=decay)
            write_matern(r, decay, factor, None)
        factor *= share[k]
        factor += 1.0 - share[k]
        K *= factor
