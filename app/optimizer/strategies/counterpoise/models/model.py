"""What the strategy needs of a model of one objective, and how today's Kriging provides
it.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_task import spread_over_values
from app.optimizer.models.kriging import Kriging
from app.optimizer.snapshot import Data


class Model(Protocol):
    def mean(self, X: Floats) -> Floats: ...

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]: ...


# Data, hyperparameters of the step before (or None), points whose values are pending,
# rows to tune on.
Fit = Callable[[Data, Floats | None, Floats, int], Kriging]


def fit_kriging(
    data: Data, theta: Floats | None, pending: Floats, tuned_rows: int
) -> Kriging:
    """Hyperparameters from a part of the data, the posterior from all; pending points
    are believed at their means.
    """
    if len(data) <= tuned_rows:
        model = Kriging(theta0=theta).fit(data.X, data.y)
    else:
        rows = np.sort(spread_over_values(data.y, tuned_rows))
        found = Kriging(theta0=theta).fit(data.X[rows], data.y[rows]).theta_
        model = Kriging(theta0=found, optimize=False).fit(data.X, data.y)
    return model.believe(pending)


class Constant:
    """Stands in for an objective of which nothing is known."""

    def mean(self, X: Floats) -> Floats:
        return np.zeros(len(X))

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        return np.zeros(len(X)), np.ones(len(X))
