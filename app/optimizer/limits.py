"""Limits of outputs: how much a value violates them, and how probably a prediction
satisfies them.

| symbol  | here               | meaning                                              |
|---------|--------------------|------------------------------------------------------|
| c_i     | `violation`        | max(lower - y, y - upper, 0) / range_i, summed       |
| P_i     | `probability`      | Phi((upper - mu) / s) - Phi((lower - mu) / s)        |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.special import ndtr

from app.optimizer.arrays import Floats

SMALLEST_DEVIATION = 1e-300


@dataclass(frozen=True, slots=True)
class Limit:
    """The limits of a minimised output; infinite where there is none."""

    lower: float = -inf
    upper: float = inf

    @property
    def is_limited(self) -> bool:
        return self.lower > -inf or self.upper < inf

    @property
    def is_two_sided(self) -> bool:
        return self.lower > -inf and self.upper < inf

    def excess(self, y: Floats) -> Floats:
        """By how much each value violates the limit, in its unit; 0 if it does not."""
        return np.maximum(np.maximum(self.lower - y, y - self.upper), 0.0)

    def probability(self, mu: Floats, deviation: Floats) -> Floats:
        """The probability that a normal variable of this mean and deviation satisfies
        the limit.
        """
        s = np.maximum(deviation, SMALLEST_DEVIATION)
        below = ndtr((self.upper - mu) / s)
        return np.asarray(below - ndtr((self.lower - mu) / s))

    def worsen(self, mu: Floats, by: Floats) -> Floats:
        """Means moved towards the nearer limit, or farther beyond it."""
        is_upper = self.upper - mu <= mu - self.lower
        return np.where(is_upper, mu + by, mu - by)

    def margin(self, y: Floats) -> Floats:
        """How far each value is beyond the nearest limit, in its unit; negative inside."""
        return np.maximum(self.lower - y, y - self.upper)


# Of margins as models learn them
KEPT = Limit(upper=0.0)


def compress(margins: Floats, scale: float) -> Floats:
    """sign(g) log(1 + |g| / scale): values near the limit keep their differences, far
    ones lose them, the sign stays.

    The bilog transform of Eriksson and Poloczek (2021).
    """
    return np.asarray(np.sign(margins) * np.log1p(np.abs(margins) / scale))


def margin_scale(margins: Floats) -> float:
    """A typical distance from the limit, so that units do not matter."""
    distances = np.abs(margins[margins != 0.0])
    return float(np.median(distances)) if len(distances) > 0 else 1.0


def total_violation(limits: Sequence[Limit], Y: Floats, spread: Floats) -> Floats:
    """Each output's excess in units of its range (M,), summed over outputs: (n,) for Y
    (n, M). The units of outputs do not matter.
    """
    total = np.zeros(len(Y))
    for limit, y, width in zip(limits, Y.T, spread, strict=True):
        if limit.is_limited:
            total += limit.excess(y) / (width if width > 0.0 else 1.0)
    return total
