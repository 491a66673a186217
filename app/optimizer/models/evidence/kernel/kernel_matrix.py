"""The kernel of all pairs of training rows, and sums over its derivatives.

Notation (K is symmetric: panels of a few rows hold what is right of the diagonal):
    panel        rows i = begin .. begin + w - 1 and columns j = begin .. n - 1, in which only i < j counts
    M (w, .)     W * K with W = dNLL / dK, 0 where i >= j
    factor       1 - share + share e of one coordinate; K is the product of all factors
    T (w, .)     M / factor
    U (w, .)     T where z_i >= z_j, 0 elsewhere

    dK / d ln b = K (1 - share) (1 - 1 / factor)
    B:     dK / d ln l = K r^2 share e / factor = K r^2 (1 - (1 - share) / factor)
    A:     dK / d ln l = K share r slope / (3 factor)
    C:     dK / dz_i = -K share slope / (3 factor) where z_i >= z_j, with the other sign elsewhere;
           dK / dz_j = -dK / dz_i. The chain rule leads from z to l, a and c.

Factors are computed twice, for K and for its derivatives: reading them again from memory would take longer.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.hyperparameters import Coordinates, Structure
from app.optimizer.models.evidence.kernel.gaussian_factors import gaussian_factor
from app.optimizer.models.evidence.kernel.matern_factors import (
    Products,
    length_products,
    matern_left,
    matern_right,
    slope_products,
)
from app.optimizer.models.evidence.kernel.scaled_coordinates import (
    centre,
    scale,
    scaled_coordinates,
    shares,
)
from app.optimizer.models.evidence.kernel.warping import warp_derivatives

PANEL = 64  # rows: what a coordinate needs stays in the processor's cache

Gradient = tuple[Floats, ...]  # (d,) each


class KernelMatrix(ABC):
    """Each evaluation overwrites the arrays of the one before.

    A gradient is that of the last evaluation.
    """

    at: Coordinates
    share: Floats  # (d, 1)
    Z: Floats  # (d, n), centred

    def __init__(self, structure: Structure, X: Floats) -> None:
        self.structure = structure
        self.X = X
        self.n, self.d = X.shape
        self.panels = list(_panels(self.n))
        shapes = [_shape(panel, self.n) for panel in self.panels]
        self.K = [np.empty(shape) for shape in shapes]
        self.is_right = np.triu(np.ones((PANEL, PANEL)), 1)
        self.buffers = [np.empty(min(PANEL, self.n) * self.n) for _ in range(4)]

    def evaluate(self, at: Coordinates) -> None:
        """Compute K."""
        self.at = at
        self.share = shares(at)
        Z = scaled_coordinates(self.structure, at, self.X)
        self.Z = Z - centre(Z)
        self._prepare()
        for panel, K in zip(self.panels, self.K, strict=True):
            factor, spare, *_ = self._buffers(K)
            K.fill(1.0)
            for k in range(self.d):
                self._write_factor(k, panel, factor, spare)
                np.multiply(K, factor, out=K)

    def copy_to(self, R: Floats) -> None:
        """Write K below the diagonal of R (n, n), in Fortran order; the diagonal too."""
        for panel, K in zip(self.panels, self.K, strict=True):
            R.T[panel, panel.start :] = K

    def gradient(self, W: Floats) -> Gradient:
        """Sums of W dK over the pairs, by the logarithms of l, b and, if the structure
        has them, a and c; W (n, n) in Fortran order is read below its diagonal.
        """
        total = 0.0  # of M
        sums = np.zeros(self.d)  # of T
        self._begin()
        for panel, K in zip(self.panels, self.K, strict=True):
            factor, spare, M, T = self._buffers(K)
            height = len(K)
            np.multiply(W.T[panel, panel.start :], K, out=M)
            M[:, :height] *= self.is_right[:height, :height]
            total += float(M.sum())
            self._reduce_panel(panel, M)
            for k in range(self.d):
                self._write_factor(k, panel, factor, spare)
                np.divide(M, factor, out=T)
                sums[k] += self._reduce(k, panel, T, factor, spare)
        weights = (1.0 - self.share[:, 0]) * (total - sums)
        lengths, *warps = self._chain()
        return (lengths, weights, *warps)

    def _buffers(self, K: Floats) -> list[Floats]:
        return [buffer[: K.size].reshape(K.shape) for buffer in self.buffers]

    @abstractmethod
    def _prepare(self) -> None:
        """Compute the products that factors are made of."""

    @abstractmethod
    def _write_factor(
        self, k: int, panel: slice, factor: Floats, spare: Floats
    ) -> None:
        """Write the factor of coordinate k."""

    @abstractmethod
    def _begin(self) -> None:
        """Set the sums that `_chain` needs to 0."""

    def _reduce_panel(self, panel: slice, M: Floats) -> None:
        """Add to the sums what all coordinates have in common: nothing."""
        del panel, M

    @abstractmethod
    def _reduce(
        self, k: int, panel: slice, T: Floats, factor: Floats, spare: Floats
    ) -> float:
        """Add to the sums of coordinate k; the sum of T. All arrays can be overwritten."""

    @abstractmethod
    def _chain(self) -> Gradient:
        """The derivatives by all but b."""


class GaussianMatrix(KernelMatrix):
    def _prepare(self) -> None:
        self.factors, self.left = [], []
        for z, share in zip(self.Z, self.share[:, 0].tolist(), strict=True):
            factor = gaussian_factor(z, share)
            self.factors.append(factor)
            self.left.append(factor.left(z, share))
        Z = self.Z.T  # (n, d)
        # A sum over pairs of (z_i - z_j)^2 is made of those of 1, z_j and z_j^2
        self.powers = np.stack([np.ones_like(Z), Z, Z * Z], axis=2)  # (n, d, 3)

    def _write_factor(
        self, k: int, panel: slice, factor: Floats, _spare: Floats
    ) -> None:
        left, share = self.left[k][panel], float(self.share[k, 0])
        self.factors[k].write(left, share, factor, panel.start)

    def _begin(self) -> None:
        self.sums = np.zeros(self.d)  # of M r^2
        self.moments = np.zeros((self.n, self.d, 3))  # sums over j of T times powers

    def _reduce_panel(self, panel: slice, M: Floats) -> None:
        columns = self.powers[panel.start :].reshape(M.shape[1], -1)
        moments = (M @ columns).reshape(len(M), self.d, 3)
        self.sums += _squares(self.powers[panel], moments)

    def _reduce(
        self, k: int, panel: slice, T: Floats, _factor: Floats, _spare: Floats
    ) -> float:
        moments = T @ self.powers[panel.start :, k]  # (w, 3)
        self.moments[panel, k] = moments
        return float(moments[:, 0].sum())

    def _chain(self) -> Gradient:
        divided = _squares(self.powers, self.moments)  # of T r^2
        return (self.sums - (1.0 - self.share[:, 0]) * divided,)


class MaternMatrix(KernelMatrix):
    def _prepare(self) -> None:
        z, share = self.Z, self.share
        self.ahead = matern_left(z), matern_right(z, share)
        self.behind = matern_left(-z), matern_right(-z, share)

    def _write_factor(
        self, k: int, panel: slice, factor: Floats, spare: Floats
    ) -> None:
        """`spare` becomes what the factor would be if the other row were ahead."""
        _multiply(self.ahead, k, panel, factor)
        _multiply(self.behind, k, panel, spare)
        np.minimum(factor, spare, out=factor)

    def _begin(self) -> None:
        z, share = self.Z, self.share
        self.ahead_slopes = length_products(z, z, share)
        self.behind_slopes = length_products(-z, -z, share)
        self.lengths = np.zeros(self.d)

    def _reduce(
        self, k: int, panel: slice, T: Floats, factor: Floats, spare: Floats
    ) -> float:
        _multiply(self.ahead_slopes, k, panel, factor)
        _multiply(self.behind_slopes, k, panel, spare)
        # Of r slope, with r >= 0 and with r <= 0, the former is the larger
        np.maximum(factor, spare, out=factor)
        self.lengths[k] += float(np.vdot(T, factor)) / 3.0
        return float(T.sum())

    def _chain(self) -> Gradient:
        return (self.lengths,)


class WarpedMatrix(MaternMatrix):
    def _begin(self) -> None:
        z, share = self.Z, self.share
        self.slopes = (slope_products(z, z, share), slope_products(-z, -z, share))
        # Sums over j of U and T - U times the right functions, over i times the left
        # ones
        self.by_rows = np.zeros((2, self.d, self.n, 3))
        self.by_columns = np.zeros((2, self.d, 3, self.n))

    def _reduce(
        self, k: int, panel: slice, T: Floats, factor: Floats, spare: Floats
    ) -> float:
        total = float(T.sum())
        # The factor is the smaller of two: where it is less, row i is ahead
        U = np.multiply(T, np.less(factor, spare), out=spare)
        T -= U
        for side, part in enumerate((U, T)):
            left, right = self.slopes[side]
            self.by_rows[side, k, panel] = part @ right[k][:, panel.start :].T
            self.by_columns[side, k, :, panel.start :] += left[k, panel].T @ part
        return total

    def _by_z(self) -> Floats:
        """Sums of W dK / dz, (d, n)."""
        total = np.zeros((self.d, self.n))
        for side, sign in enumerate((1.0, -1.0)):
            left, right = self.slopes[side]
            rows = np.einsum("knp,knp->kn", self.by_rows[side], left)
            columns = np.einsum("kpn,kpn->kn", self.by_columns[side], right)
            total += sign * (rows - columns)
        return total / -3.0

    def _chain(self) -> Gradient:
        by_z = self._by_z()
        by_u = by_z * scale(self.structure, self.at)[:, None]  # (d, n)
        # (n, d) each
        by_log_a, by_log_c = warp_derivatives(self.X, self.at.a, self.at.c)
        return (
            # z is u times a scale that falls with l
            -np.einsum("ki,ki->k", by_z, self.Z),
            np.einsum("ki,ik->k", by_u, by_log_a),
            np.einsum("ki,ik->k", by_u, by_log_c),
        )


def _multiply(products: Products, k: int, panel: slice, out: Floats) -> None:
    left, right = products
    np.matmul(left[k, panel], right[k][:, panel.start :], out=out)


def _panels(n: int) -> Iterator[slice]:
    for begin in range(0, n, PANEL):
        yield slice(begin, min(begin + PANEL, n))


def _shape(panel: slice, n: int) -> tuple[int, int]:
    return panel.stop - panel.start, n - panel.start


def _squares(powers: Floats, moments: Floats) -> Floats:
    """Sums over rows i of sum_j M_ij (z_i - z_j)^2, (k,): powers (w, k, 3) are 1, z_i,
    z_i^2, moments (w, k, 3) the sums over j of M_ij times 1, z_j, z_j^2.
    """
    terms = (
        powers[..., 2] * moments[..., 0]
        - 2.0 * powers[..., 1] * moments[..., 1]
        + moments[..., 2]
    )
    return np.asarray(terms.sum(axis=0))


MATRICES: dict[Structure, type[KernelMatrix]] = {
    Structure.MATERN: MaternMatrix,
    Structure.GAUSSIAN: GaussianMatrix,
    Structure.WARPED_MATERN: WarpedMatrix,
}


def make_kernel_matrix(structure: Structure, X: Floats) -> KernelMatrix:
    return MATRICES[structure](structure, X)
