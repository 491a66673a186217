"""The weight that the frozen member of an ensemble earns: the one with which both
together predict the full samples best, each left out in turn.
"""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.leave_one_out import log_normal
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.surrogate import logarithmic_pool

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
MARGIN = 0.02  # in mean log density, by which a larger weight must be better


def frozen_weight(fresh: Posterior, full: int, frozen: Posterior) -> float:
    """`full`: how many of the fresh model's first rows are full samples.

    A member that saw one value only has no weight if the other saw more.
    """
    if full < 2 or frozen.constant:
        return 0.0
    if fresh.constant:
        return 1.0
    left_out = fresh.leave_one_out()
    y = fresh.y[:full]
    own = (left_out.mean[:full], left_out.variance[:full])
    other = _without_own_values(frozen, fresh.X[:full])
    chosen, best = 0.0, -np.inf
    for weight in WEIGHTS:
        mean, variance = logarithmic_pool(*own, *other, weight)
        density = float(np.mean(log_normal(y - mean, variance)))
        if density > best + (MARGIN if weight > 0.0 else 0.0):
            chosen, best = weight, density
    return chosen


def _without_own_values(model: Posterior, X: Floats) -> tuple[Floats, Floats]:
    """Means and variances at X, of training rows without their values."""
    mean, std = model.mean_and_std(X)
    variance = std**2
    left_out = model.leave_one_out()
    rows = {x.tobytes(): row for row, x in enumerate(np.ascontiguousarray(model.X))}
    for k, x in enumerate(np.ascontiguousarray(X)):
        row = rows.get(x.tobytes())
        if row is not None:
            mean[k], variance[k] = left_out.mean[row], left_out.variance[row]
    return mean, variance
