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
    """The points of the population whose means are nondominated, of those that are
    predicted to keep all limits, if there are any; above 200 of them, some evenly
    spread over the first objective. None without models.
    """
    population = _feasible(proposal)
    if len(population) == 0 or not proposal.models.surrogates:
        nothing = np.empty((0, len(proposal.models.low)))
        return PredictedFront(population[:0], nothing, nothing)
    mean, variance = proposal.models.means_and_variances(population)
    front = np.flatnonzero(moocore.is_nondominated(mean))
    in_order = front[np.argsort(mean[front, 0], kind="stable")]
    places = np.linspace(0, len(front) - 1, min(len(front), MOST_POINTS))
    rows = in_order[places.round().astype(np.int64)]
    return PredictedFront(population[rows], mean[rows], np.sqrt(variance[rows]))


def _feasible(proposal: Proposal) -> Floats:
    feasibility = proposal.models.feasibility
    if feasibility is None or len(proposal.population) == 0:
        return proposal.population
    keeps = feasibility.violation(proposal.population) == 0.0
    return proposal.population[keeps] if keeps.any() else proposal.population
