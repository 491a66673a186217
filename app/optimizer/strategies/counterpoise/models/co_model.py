"""A model of an expensive objective on x and the cheap values, and the record that
decides whether it is used.

| symbol | here       | meaning                                         |
|--------|------------|-------------------------------------------------|
| C      | `C` (N, p) | cheap values, known or predicted                |
| s      | `S` (N, p) | their deviations, 0 where they are known        |
"""

from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.predictor import Predictor
from app.optimizer.snapshot import Forecasts
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings


@dataclass(frozen=True, slots=True)
class CoModel:
    model: Predictor  # of the inputs (x, C)

    def mean(self, X: Floats, C: Floats) -> Floats:
        return self.model.mean(np.hstack([X, C]))

    def mean_and_std(self, X: Floats, C: Floats, S: Floats) -> tuple[Floats, Floats]:
        """The variance grows by the squared change of the mean when a cheap value
        changes by its deviation.
        """
        inputs = np.hstack([X, C])  # (N, d + p)
        mean, deviation = self.model.mean_and_std(inputs)
        variance = deviation**2
        for j in np.flatnonzero((S > 0.0).any(axis=0)):
            moved = inputs.copy()
            moved[:, X.shape[1] + j] += S[:, j]
            variance += (self.model.mean(moved) - mean) ** 2
        return mean, np.sqrt(variance)


def errors(
    forecasts: Forecasts, settings: CounterpoiseSettings
) -> tuple[float, float] | None:
    """Summed absolute errors of the plain and of the co-model over the newest
    forecasts; None: too few.
    """
    told, plain, co = (
        values[-settings.record :]
        for values in (forecasts.told, forecasts.plain, forecasts.co)
    )
    if len(told) < settings.least_record:
        return None
    return float(np.abs(plain - told).sum()), float(np.abs(co - told).sum())


def earned(forecasts: Forecasts, settings: CounterpoiseSettings) -> bool:
    """Whether the co-model predicted better than the plain one."""
    if settings.co_model == "never":
        return False
    found = errors(forecasts, settings)
    return found is not None and found[1] < found[0]
