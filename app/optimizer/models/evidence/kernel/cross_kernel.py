"""The kernel of training rows and new ones."""

from typing import Protocol

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.hyperparameters import Coordinates, Structure
from app.optimizer.models.evidence.kernel.gaussian_factors import gaussian_factor
from app.optimizer.models.evidence.kernel.matern_factors import (
    matern_left,
    matern_right,
)
from app.optimizer.models.evidence.kernel.scaled_coordinates import (
    centre,
    scaled_coordinates,
    shares,
)


class Factors(Protocol):
    """The factors of all coordinates for fixed training rows."""

    # elements of a block: it and its factors stay in the processor's cache
    block: int

    def multiply(self, z: Floats, K: Floats) -> None:
        """Multiply the block K (N, n) of new rows z (d, N)."""


class CrossKernel:
    """K of fixed training rows and new ones; what depends on the former only is
    computed once.
    """

    def __init__(self, structure: Structure, at: Coordinates, Z: Floats) -> None:
        """`Z` (d, n): scaled coordinates of the training rows."""
        self.structure, self.at, self.Z = structure, at, Z
        self.n = Z.shape[1]
        if self.n == 0:
            return
        self.middle = centre(Z)
        make = GaussianFactors if structure is Structure.GAUSSIAN else MaternFactors
        self.factors: Factors = make(Z - self.middle, shares(at))

    def __reduce__(self) -> tuple[type["CrossKernel"], tuple[object, ...]]:
        return CrossKernel, (self.structure, self.at, self.Z)  # what is derived stays

    def __call__(self, X: Floats) -> Floats:
        """For new rows X (N, d): (n, N) in Fortran order."""
        N = len(X)
        K = np.ones((N, self.n))
        if self.n == 0 or N == 0:
            return K.T
        z = scaled_coordinates(self.structure, self.at, X) - self.middle  # (d, N)
        width = max(1, self.factors.block // self.n)
        for begin in range(0, N, width):
            rows = slice(begin, begin + width)
            self.factors.multiply(z[:, rows], K[rows])
        return K.T


class MaternFactors:
    """Of each coordinate: the minimum of two matrix products."""

    block = 32_768

    def __init__(self, t: Floats, share: Floats) -> None:
        self.right = matern_right(t, share)  # (d, 4, n)
        self.mirrored = matern_right(-t, share)

    def multiply(self, z: Floats, K: Floats) -> None:
        left, mirrored_left = matern_left(z), matern_left(-z)  # (d, N, 4)
        factor, mirrored = np.empty_like(K), np.empty_like(K)
        for k in range(len(z)):
            np.matmul(left[k], self.right[k], out=factor)
            np.matmul(mirrored_left[k], self.mirrored[k], out=mirrored)
            np.minimum(factor, mirrored, out=factor)
            K *= factor


class GaussianFactors:
    block = 65_536

    def __init__(self, t: Floats, share: Floats) -> None:
        self.shares = share[:, 0].tolist()
        self.of_coordinates = [
            gaussian_factor(t_k, share_k)
            for t_k, share_k in zip(t, self.shares, strict=True)
        ]

    def multiply(self, z: Floats, K: Floats) -> None:
        factor = np.empty_like(K)
        rows = zip(self.of_coordinates, self.shares, z, strict=True)
        for of_coordinate, share, z_k in rows:
            of_coordinate.write(of_coordinate.left(z_k, share), share, factor)
            K *= factor
