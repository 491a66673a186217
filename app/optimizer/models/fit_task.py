"""The fit of one model to one data set: a task that can be sent to another process.

Above `MOST_FROZEN` points a frozen model is fitted to the best and to some of the
others; above `MOST_TUNED` points its hyperparameters come from a part of them.
"""

from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.kriging import Kriging
from app.optimizer.snapshot import Data

MOST_FROZEN = 1100
MOST_TUNED = 545


@dataclass(frozen=True, slots=True)
class FitTask:
    data: Data
    # Where the fit starts; of a frozen model: found before, the model is only
    # factorised
    theta: Floats | None
    frozen: bool = False


def fit_task(task: FitTask) -> Kriging:
    if task.frozen:
        return fit_frozen(task.data, task.theta)
    return Kriging(theta0=task.theta).fit(task.data.X, task.data.y)


def fit_frozen(data: Data, theta: Floats | None) -> Kriging:
    """The same model, to the last bit, whether theta is found now or was found at an
    earlier step.
    """
    data = thin(data)
    if theta is None:
        rows = spread_over_values(data.y, MOST_TUNED)
        theta = Kriging().fit(data.X[rows], data.y[rows]).theta_
    return Kriging(theta0=theta, optimize=False).fit(data.X, data.y)


def thin(data: Data) -> Data:
    """Above 1100 points: half of them the best, the others at random."""
    order = np.lexsort((*data.X.T[::-1], data.y))
    if len(data) > MOST_FROZEN:
        # Differs from [SBP-BO]: it learns from all. The same points at every step, so
        # not from the step's generator.
        rng = np.random.default_rng(len(data))
        half = MOST_FROZEN // 2
        others = rng.permutation(order[half:])[: MOST_FROZEN - half]
        order = np.append(order[:half], others)
    return Data(data.X[order], data.y[order])


def spread_over_values(y: Floats, most: int) -> Ints:
    """At most that many rows, evenly spaced in the order of their values."""
    order = np.argsort(y, kind="stable")
    places = np.linspace(0, len(y) - 1, min(most, len(y)))
    return order[places.round().astype(np.int64)]
