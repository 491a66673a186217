"""The scale on which objectives are compared: the observed front spans [0, 1], whatever
the units.

| symbol | here           | meaning                                          |
|--------|----------------|--------------------------------------------------|
| A      | `front` (a, m) | nondominated values of the full samples          |
| lo, sc | `low`, `size`  | the front's minimum and range, per objective     |
"""

from dataclasses import dataclass

import numpy as np
from moocore import is_nondominated

from app.optimizer.arrays import Bools, Floats
from app.optimizer.models.kriging.standardise import is_constant


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    low: Floats  # (m,)
    size: Floats  # (m,), positive

    def apply(self, F: Floats) -> Floats:
        return np.asarray((F - self.low) / self.size)

    def apply_deviation(self, deviation: Floats) -> Floats:
        return np.asarray(deviation / self.size)


def front_scale(
    F: Floats, smallest_range: float, *, common_unit: bool = False
) -> Scale:
    """Of full samples F (n, m), n >= 1.

    A range too small to be trusted is replaced by that of all samples. `common_unit`:
    all objectives have the largest range.
    """
    front = F[nondominated(F)]  # (a, m)
    front_range = np.ptp(front, axis=0)  # (m,)
    data_range = np.ptp(F, axis=0)
    size = np.where(front_range < smallest_range * data_range, data_range, front_range)
    # A constant objective decides nothing: its scaled values are 0 up to rounding.
    constant = is_constant(F) | (size <= 0.0)
    size = np.where(constant, np.maximum(np.abs(F).max(axis=0), 1.0), size)
    if common_unit and not constant.all():
        size = np.full_like(size, size[~constant].max())
    return Scale(front.min(axis=0), size)


def nondominated(F: Floats) -> Bools:
    """Rows of F (n, m) that no other row dominates; of equal rows all are kept.

    O(n^2 m) at worst.
    """
    if len(F) == 0:
        return np.zeros(0, dtype=np.bool_)
    if F.shape[1] == 1:
        return np.asarray(F[:, 0] == F[:, 0].min())
    return np.asarray(is_nondominated(F, keep_weakly=True))


def dominated_by(F: Floats, A: Floats) -> Bools:
    """Which rows of F (n, m) some row of A (a, m) dominates; O(n a m)."""
    no_worse = np.ones((len(F), len(A)), dtype=np.bool_)
    better = np.zeros((len(F), len(A)), dtype=np.bool_)
    for f, a in zip(F.T, A.T, strict=True):
        no_worse &= a <= f[:, None]
        better |= a < f[:, None]
    return np.asarray((no_worse & better).any(axis=1))
