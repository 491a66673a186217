"""The search bias penalised acquisition function, minimised: AF_SBP = AF_A * SBP,
objective by objective.

| symbol    | here              | meaning                                                        |
|-----------|-------------------|----------------------------------------------------------------|
| mu, v     | `mu`, `v` (N, m)  | predicted means and variances of the final population          |
| mu_bar    | `mu_bar` (N, m)   | mu, mapped to [0, 1] by the population's minimum and maximum   |
| FE, FE_max| `settled`, `budget`| full samples settled, in all                                  |
| alpha     | `alpha`           | weight of the variance in AF_A                                 |
| N_iter    | `step`            | number of the search step                                      |
| r, w      | `r`, `w` (m,)     | ratios, and their shares                                       |
| lambda    | `rate` (m,)       | rate of the exponential distribution that penalises            |
"""

import math
from typing import Literal

import numpy as np

from app.optimizer.arrays import Floats

Scaling = Literal["paper", "range"]


def variance_weight(settled: int, budget: int) -> float:
    """alpha of [SBP-BO] Eq. (3)."""
    # A stopped study, or one with failed jobs to retry, can have settled more than its
    # budget: alpha stays at 1.
    share = min(settled / budget, 1.0)
    return 0.5 - 0.5 * math.cos(math.pi * share)


def to_unit_range(mu: Floats) -> Floats:
    """mu_bar of [SBP-BO] Eq. (6); a column of equal means is all 0."""
    return _over_maximum(mu - mu.min(axis=0))


def adaptive(mu: Floats, v: Floats, alpha: float, scaling: Scaling) -> Floats:
    """AF_A of [SBP-BO] Eq. (2), (N, m)."""
    # Differs from [SBP-BO] twice: mu / mu_max changes when a constant is added to an
    # objective, mu_bar does not; and means can be negative, and would be divided by a
    # maximum of either sign.
    if scaling == "range":
        exploitation = to_unit_range(mu)
    else:
        lowest = np.minimum(mu.min(axis=0), 0.0)  # (m,)
        exploitation = _over_maximum(mu - lowest)
    return (1.0 - alpha) * exploitation + alpha * _over_maximum(v)


def search_bias_penalty(mu_bar: Floats, r: Floats, step: int) -> Floats:
    """SBP of [SBP-BO] Eq. (7)-(10), (N, m)."""
    w = r / r.sum()  # (m,)
    rate = 1.0 / (w * step + 1.0)  # (m,)
    density = rate * np.exp(-rate * mu_bar)  # (N, m)
    return np.asarray(1.0 - density)


def no_penalty(mu_bar: Floats, _r: Floats, _step: int) -> Floats:
    """Leaves AF_A as it is: the ablation BO-AAF."""
    return np.ones_like(mu_bar)


def _over_maximum(values: Floats) -> Floats:
    """Non-negative values, each column divided by its maximum; a column of zeros stays."""
    highest = values.max(axis=0)
    divisor = np.where(highest > 0.0, highest, 1.0)
    return values / divisor
