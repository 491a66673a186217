"""Values of the cheap objective made comparable with those of the expensive one
([Tr-SAEA]): second moments first (CORAL), then transfer components (TCA).

| symbol | here         | meaning                                                        |
|--------|--------------|----------------------------------------------------------------|
| K      | `K` (n, n)   | Gaussian kernel of all values, source and target               |
| L      | `gap` (n,)   | L = gap gap^T: the distance of both means in the kernel's space |
| H      | `centred`    | I - 1 1^T / n                                                  |
| mu     | `RIDGE`      | weight of the components' size                                 |
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from app.optimizer.arrays import Floats

RIDGE = 0.5
COMPONENTS = 20


def coral(source: Floats, target: Floats) -> Floats:
    """Source values with the target's second moment, C = variance + 1; (n_s,)."""
    ratio = (target.var() + 1.0) / (source.var() + 1.0)
    return np.asarray(source * np.sqrt(ratio))


@dataclass(frozen=True, slots=True, eq=False)
class TransferComponents:
    values: Floats  # (n,): source, then target
    width: float
    weights: Floats  # (n, k)

    def __call__(self, y: Floats) -> Floats:
        """The components of values y (N,): (N, k)."""
        return gaussian(y, self.values, self.width) @ self.weights


def transfer_components(source: Floats, target: Floats) -> TransferComponents:
    """The directions of largest variance in the kernel's space along which both sets
    of values have nearly the same mean.
    """
    values = np.concatenate([source, target])
    # Differs from [Tr-SAEA]: it does not name the kernel's width; here it is the
    # median distance.
    distances = np.abs(values[:, None] - values)
    width = float(np.median(distances[distances > 0.0])) if distances.any() else 1.0
    K = gaussian(values, values, width)
    gap = np.concatenate(
        [
            np.full(len(source), 1.0 / len(source)),
            np.full(len(target), -1.0 / len(target)),
        ]
    )
    moved = K @ gap
    centred = K - K.mean(axis=0)
    scatter = centred.T @ centred  # K H K
    bounded = np.outer(moved, moved) + RIDGE * np.eye(len(values))  # K L K + mu I
    first = max(len(values) - COMPONENTS, 0)
    _, vectors = eigh(scatter, bounded, subset_by_index=(first, len(values) - 1))
    return TransferComponents(values, width, vectors[:, ::-1])


def gaussian(a: Floats, b: Floats, width: float) -> Floats:
    """(len(a), len(b))"""
    return np.asarray(np.exp(-0.5 * ((a[:, None] - b) / width) ** 2))
