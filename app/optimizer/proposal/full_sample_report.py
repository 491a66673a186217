"""Why a step chose its full samples: for people, and for the record by which the next
step chooses its models.
"""

from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.step_models import Models


@dataclass(frozen=True, slots=True)
class FullSampleReport:
    """Why a full sample was chosen, and what was predicted of it.

    A tuple has one number per objective.
    """

    pool_row: int | None  # the promoted sample of the pool; None: a new point
    # Expected approach to the front, in its ranges; None: chosen by its deviation
    gain: float | None
    # A value that is already known is its own mean, with deviation 0
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    plain: tuple[float, ...]  # predicted by the models on x alone
    # Predicted by the models on x and the cheap values; None: there is no such model
    co: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class CoModelReport:
    """The model of an expensive objective on x and the cheap values."""

    used: bool
    # Sums of absolute errors over the record; None: the record is too short
    plain_error: float | None
    co_error: float | None


def predicted_reports(models: Models, X: Floats) -> tuple[FullSampleReport, ...]:
    """What the models predict of new full samples."""
    if len(X) == 0:
        return ()
    mean, variance = models.means_and_variances(X)  # (k, m), (k, m)
    deviation = np.sqrt(variance)
    no_co_models = (None,) * mean.shape[1]
    reports = []
    for k in range(len(X)):
        predicted = tuple(mean[k].tolist())
        report = FullSampleReport(
            pool_row=None,
            gain=None,
            mean=predicted,
            deviation=tuple(deviation[k].tolist()),
            plain=predicted,
            co=no_co_models,
        )
        reports.append(report)
    return tuple(reports)
