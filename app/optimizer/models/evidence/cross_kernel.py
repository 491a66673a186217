"""The kernel of training rows and new ones."""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.hyperparameters import Coordinates, Structure
from app.optimizer.models.evidence.kernels import (
    centre,
    exponent_products,
    matern_products,
    scaled_coordinates,
    shares,
    write_gaussian,
)

# elements of a temporary array: it stays in the processor's cache
BLOCK = 32_768


def cross_kernel(structure: Structure, at: Coordinates, Z: Floats, X: Floats) -> Floats:
    """K of training rows, given as scaled coordinates Z (d, n), and new rows X (N, d):
    (n, N) in Fortran order.
    """
    n, N = Z.shape[1], len(X)
    K = np.ones((N, n))
    if n == 0 or N == 0:
        return K.T
    middle = centre(Z)
    z = scaled_coordinates(structure, at, X) - middle  # (d, N)
    t = Z - middle  # (d, n)
    width = max(1, BLOCK // n)
    multiply = (
        _multiply_gaussian if structure is Structure.GAUSSIAN else _multiply_matern
    )
    for begin in range(0, N, width):
        rows = slice(begin, begin + width)
        multiply(z[:, rows], t, shares(at), K[rows])
    return K.T


def _multiply_matern(z: Floats, t: Floats, share: Floats, K: Floats) -> None:
    """Multiply the block K (N, n) by the factors of all coordinates."""
    left, right = matern_products(z, t, share)
    mirrored_left, mirrored_right = matern_products(-z, -t, share)
    factor, mirrored = np.empty_like(K), np.empty_like(K)
    for k in range(len(z)):
        np.matmul(left[k], right[k], out=factor)
        np.matmul(mirrored_left[k], mirrored_right[k], out=mirrored)
        np.minimum(factor, mirrored, out=factor)
        K *= factor


def _multiply_gaussian(z: Floats, t: Floats, share: Floats, K: Floats) -> None:
    """Multiply the block K (N, n) by the factors of all coordinates."""
    left, right = exponent_products(z, t, share)
    factor = np.empty_like(K)
    for k in range(len(z)):
        write_gaussian(left[k], right[k], float(share[k, 0]), factor)
        K *= factor
