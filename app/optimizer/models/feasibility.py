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
from app.optimizer.limits import Limit, total_violation
from app.optimizer.models.kriging.regressor import Kriging
from app.optimizer.models.surrogate import Surrogate
from app.optimizer.snapshot import Data, Snapshot

# A tenth of the indicator's range: its jump becomes smooth
INDICATOR_NOISE = 0.2
INDICATOR_RANGE = 2.0
HIDDEN_LIMIT = Limit(upper=0.0)
MOST_HIDDEN = 500  # samples that the model of the hidden constraint learns from
LIKELY = 0.5  # the probability from which a point counts as feasible


@dataclass(frozen=True, slots=True, eq=False)
class Feasibility:
    """The surrogates of constraints predict compressed margins, so their limit is 0."""

    limits: tuple[Limit, ...]  # one per output
    surrogates: tuple[Surrogate, ...]  # one per output
    spread: Floats  # (M,): the range of each output's data
    hidden: Kriging | None  # None: no sample was infeasible

    @property
    def is_limited(self) -> bool:
        limited = any(limit.is_limited for limit in self.limits)
        return limited or self.hidden is not None

    def violation(self, X: Floats) -> Floats:
        """The total predicted violation at X (n, D), (n,)."""
        total = np.zeros(len(X))
        for limit, surrogate, width in zip(
            self.limits, self.surrogates, self.spread, strict=True
        ):
            if limit.is_limited:
                excess = limit.excess(surrogate.mean(X))
                total += excess / (width if width > 0.0 else 1.0)
        if self.hidden is not None:
            total += HIDDEN_LIMIT.excess(self.hidden.mean(X)) / INDICATOR_RANGE
        return total

    def probability(self, X: Floats) -> Floats:
        """That all limits are kept at X (n, D), (n,)."""
        product = np.ones(len(X))
        for limit, surrogate in zip(self.limits, self.surrogates, strict=True):
            if limit.is_limited:
                mu, v = surrogate.mean_and_variance(X)
                product *= limit.probability(mu, np.sqrt(v))
        if self.hidden is not None:
            mu, std = self.hidden.mean_and_std(X)
            product *= HIDDEN_LIMIT.probability(mu, std)
        return product


def known_violation(limits: Sequence[Limit], Y: Floats) -> Floats | None:
    """Of samples with all values, (n, M); None: no output has limits."""
    if not any(limit.is_limited for limit in limits):
        return None
    spread = np.ptp(Y, axis=0) if len(Y) else np.ones(Y.shape[1])
    return total_violation(limits, Y, spread)


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
