"""What a step knows of feasibility: limits on predicted outputs, and a model of the
samples that were reported as infeasible, a hidden constraint of the whole sample.

The hidden constraint's values are +1 of infeasible samples and -1 of feasible ones; its
limit is 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Bools, Floats
from app.optimizer.limits import Limit
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.predictor import Predictor
from app.optimizer.snapshot import Data, Snapshot

# A tenth of the indicator's range: its jump becomes smooth
INDICATOR_NOISE = 0.2
INDICATOR_RANGE = 2.0
HIDDEN_LIMIT = Limit(upper=0.0)
MOST_HIDDEN = 500  # samples that the model of the hidden constraint learns from
LIKELY = 0.5  # the probability from which a point counts as feasible


@dataclass(frozen=True, slots=True, eq=False)
class LimitedOutput:
    limit: Limit
    model: Predictor
    spread: float  # the range of the data

    def violation(self, X: Floats) -> Floats:
        """In units of the range, so that the user's units do not matter."""
        width = self.spread if self.spread > 0.0 else 1.0
        return self.limit.excess(self.model.mean(X)) / width

    def probability(self, X: Floats, caution: float = 0.0) -> Floats:
        """If means are worse by `caution` deviations."""
        mean, deviation = self.model.mean_and_std(X)
        worse = self.limit.worsen(mean, caution * deviation)
        return self.limit.probability(worse, deviation)


@dataclass(frozen=True, slots=True, eq=False)
class Feasibility:
    # Objectives in their own values; constraints as compressed margins, whose limit is 0
    limited: tuple[LimitedOutput, ...]
    hidden: Kriging | None  # None: no sample was infeasible
    # Deviations by which means count as worse in probabilities
    caution: float = 0.0

    def violation(self, X: Floats) -> Floats:
        """The total predicted violation at X (n, D), (n,)."""
        total = np.zeros(len(X))
        for output in self._all:
            total += output.violation(X)
        return total

    def probability(self, X: Floats) -> Floats:
        """That all limits are kept at X (n, D), (n,)."""
        product = np.ones(len(X))
        for output in self._all:
            product *= output.probability(X, self.caution)
        return product

    @property
    def _all(self) -> tuple[LimitedOutput, ...]:
        if self.hidden is None:
            return self.limited
        hidden = LimitedOutput(HIDDEN_LIMIT, self.hidden, INDICATOR_RANGE)
        return (*self.limited, hidden)


def fit_hidden(
    snapshot: Snapshot, groups: tuple[int, ...] | None, rng: Generator
) -> Kriging | None:
    """The model of the hidden constraint; None if no sample was infeasible."""
    data = hidden_data(snapshot, rng)
    if data is None:
        return None
    model = Kriging(groups=groups, noise=INDICATOR_NOISE)
    return model.fit(data.X, data.y)


def hidden_data(snapshot: Snapshot, rng: Generator) -> Data | None:
    """The indicator of all samples whose feasibility is known, in the order of their
    points.
    """
    reporting = [i for i, X in enumerate(snapshot.infeasible) if len(X) > 0]
    if not reporting:
        return None
    infeasible = np.unique(
        np.vstack([snapshot.infeasible[i] for i in reporting]), axis=0
    )
    feasible = _feasible(snapshot, reporting)
    known = np.vstack([infeasible, feasible])
    _, first = np.unique(known, axis=0, return_index=True)
    is_infeasible: Bools = first < len(infeasible)
    points = known[first]
    y = np.where(is_infeasible, 1.0, -1.0)
    if len(points) > MOST_HIDDEN:
        rows = np.sort(rng.choice(len(points), MOST_HIDDEN, replace=False))
        points, y = points[rows], y[rows]
    return Data(points, y)


def _feasible(snapshot: Snapshot, reporting: Sequence[int]) -> Floats:
    """Complete samples, and where a single output has reported infeasible samples, all
    points with a value of it.
    """
    parts = [snapshot.X]
    if len(reporting) == 1:
        (i,) = reporting
        parts += [snapshot.partial[i].X, snapshot.extra[i].X]
        frozen = snapshot.frozen[i]
        if frozen is not None:
            parts.append(frozen.X)
    return np.vstack(parts)
