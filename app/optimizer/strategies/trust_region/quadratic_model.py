"""A quadratic model around one point, through the values of the nearest samples.

| symbol | here       | meaning                                                          |
|--------|------------|------------------------------------------------------------------|
| c      | `centre`   | the model takes the value told there                             |
| s      | `(X - c) / scale` | displacements; the farthest sample used is at 1           |
| g, H   | `weights`  | gradient and Hessian: m(s) = f(c) + g.s + s^T H s / 2             |
"""

from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.snapshot import Data

SMALLEST_SINGULAR = 1e-10  # share of the largest; directions below it have no evidence


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic:
    centre: Floats  # (d,)
    value: float
    scale: float
    weights: Floats  # (d + d (d + 1) / 2,)

    def __call__(self, X: Floats) -> Floats:
        """(N,)"""
        S = (X - self.centre) / self.scale
        return np.asarray(self.value + terms(S) @ self.weights)


def fit_quadratic(data: Data, centre: Floats, value: float) -> Quadratic:
    """Through the (d + 1)(d + 2) / 2 samples nearest to the centre; with fewer, the
    quadratic with the smallest coefficients.
    """
    d = len(centre)
    distance = np.abs(data.X - centre).max(axis=1)  # (n,)
    nearest = np.argsort(distance, kind="stable")[: (d + 1) * (d + 2) // 2]
    farthest = float(distance[nearest].max(initial=0.0))
    scale = farthest if farthest > 0.0 else 1.0
    S = (data.X[nearest] - centre) / scale
    weights, *_ = np.linalg.lstsq(
        terms(S), data.y[nearest] - value, rcond=SMALLEST_SINGULAR
    )
    return Quadratic(centre, value, scale, np.asarray(weights, dtype=np.float64))


def terms(S: Floats) -> Floats:
    """s_k, then s_k^2 / 2, then s_k s_l for k < l; (n, d + d (d + 1) / 2)."""
    first, second = np.triu_indices(S.shape[1], 1)
    return np.hstack([S, S**2 / 2.0, S[:, first] * S[:, second]])
