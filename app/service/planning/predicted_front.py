"""The predicted front of a step: what its models expect of its final population."""

from dataclasses import dataclass

import moocore
import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.proposal.proposal import Proposal

MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class PredictedFront:
    U: Floats  # (n, d)
    mean: Floats  # (n, m), minimised
    deviation: Floats  # (n, m)


def predicted_front(proposal: Proposal) -> PredictedFront:
    """The points of the population whose means are nondominated; above 200 of them,
    some evenly spread over the first objective. None without models.
    """
    if not proposal.models.surrogates:
        m = proposal.models.F.shape[1]
        return PredictedFront(
            proposal.population[:0], np.empty((0, m)), np.empty((0, m))
        )
    mean, variance = proposal.models.means_and_variances(proposal.population)
    if len(mean) == 0:
        return PredictedFront(proposal.population, mean, variance)
    front = np.flatnonzero(moocore.is_nondominated(mean))
    in_order = front[np.argsort(mean[front, 0], kind="stable")]
    places = np.linspace(0, len(front) - 1, min(len(front), MOST_POINTS))
    rows = in_order[places.round().astype(np.int64)]
    return PredictedFront(
        proposal.population[rows], mean[rows], np.sqrt(variance[rows])
    )
