"""All samples of a snapshot with their values as known or believed, on the scale of the
front.

| symbol | here         | meaning                                                            |
|--------|--------------|--------------------------------------------------------------------|
| A      | `A` (a, m)   | nondominated full samples, running ones as believed                |
| W      | `W` (K, m)   | directions                                                         |
| –      | `draws` (S, m)| standard normal draws that all candidates share                   |
"""

from dataclasses import dataclass, replace

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.belief import DEVIATIONS
from app.optimizer.models.feasibility import LIKELY, Feasibility
from app.optimizer.problem import Problem
from app.optimizer.proposal.selection import known_points
from app.optimizer.search.design import latin
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.counterpoise.candidates import (
    Candidates,
    fresh_candidates,
)
from app.optimizer.strategies.counterpoise.models.objective_models import (
    ObjectiveModels,
    complete_samples,
)
from app.optimizer.strategies.counterpoise.scale import Scale, front_scale, nondominated
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings

# With fewer samples than this, the search also starts from a Latin hypercube
SMALLEST_START = 20


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    X: Floats  # (n, d) full samples: complete ones, then running ones
    F: Floats  # (n, m) scaled
    A: Floats  # (a, m) scaled
    pool: Candidates
    known: Floats  # (k, d) every point that any objective was asked for
    scale: Scale
    models: ObjectiveModels
    feasibility: Feasibility | None = None  # None: there are no limits

    def scaled_means(self, X: Floats) -> Floats:
        """Predicted means of new points, (N, m)."""
        return self.scale.apply(self.models.means(X))

    def likely(self, X: Floats) -> Floats:
        """Points that probably keep the limits; if none does, the most probable ones."""
        return X[likely_rows(self.feasibility, X)]

    def weight(self, candidates: Candidates) -> Floats | None:
        """The probability that each keeps the limits, (C,)."""
        if self.feasibility is None:
            return None
        return self.feasibility.probability(candidates.X)

    def predict(self, X: Floats) -> Candidates:
        """New points as candidates."""
        mean, deviation = self.models.predict(X)
        return fresh_candidates(
            X, self.scale.apply(mean), self.scale.apply_deviation(deviation)
        )


@dataclass(frozen=True, slots=True, eq=False)
class StepContext:
    """What every part of a step reads."""

    problem: Problem
    settings: CounterpoiseSettings
    archive: Archive
    W: Floats  # (K, m)
    draws: Floats  # (S, m)


def in_canonical_order(snapshot: Snapshot) -> tuple[Snapshot, Ints]:
    """The snapshot with sorted rows, so that their order plays no part, and the order
    of the pool's rows.
    """
    full = np.lexsort((*snapshot.F.T, *snapshot.X.T))
    pool = np.lexsort((*snapshot.pool.X.T, -snapshot.pool.steps))  # the newest first
    running = np.lexsort((*snapshot.running.X.T,))
    ordered = replace(
        snapshot,
        X=snapshot.X[full],
        F=snapshot.F[full],
        full_steps=snapshot.steps_of_full[full],
        pool=snapshot.pool.rows(pool),
        running=snapshot.running.rows(running),
    )
    return ordered, pool


def gather(
    problem: Problem,
    snapshot: Snapshot,
    models: ObjectiveModels,
    settings: CounterpoiseSettings,
    rng: np.random.Generator,
    feasibility: Feasibility | None = None,
) -> Archive:
    """With fewer than two complete samples, predictions give the scale."""
    mean, deviation = complete_samples(models, snapshot.running)
    # Models of x alone believe the running samples already; co-models do not.
    believed = mean + DEVIATIONS[settings.belief] * deviation
    F = np.vstack([snapshot.F, believed])
    reference = snapshot.F
    if len(reference) < 2:
        reference = np.vstack(
            [F, models.means(latin(problem.variables, SMALLEST_START, rng))]
        )
    scale = front_scale(
        reference, settings.smallest_range, common_unit=settings.common_unit
    )
    scaled = scale.apply(F)
    mean, deviation = complete_samples(models, snapshot.pool)
    rows = np.arange(len(snapshot.pool))
    pool = Candidates(
        snapshot.pool.X, scale.apply(mean), scale.apply_deviation(deviation), rows
    )
    return Archive(
        X=np.vstack([snapshot.X, snapshot.running.X]),
        F=scaled,
        A=scaled[nondominated(scaled)],
        pool=pool.rows(likely_rows(feasibility, pool.X)),
        known=all_points(snapshot),
        scale=scale,
        models=models,
        feasibility=feasibility,
    )


def likely_rows(feasibility: Feasibility | None, X: Floats) -> Ints:
    """Rows of X (n, d) that probably keep the limits; if none does, the most probable
    ones; ascending.
    """
    if feasibility is None or len(X) == 0:
        return np.arange(len(X))
    probability = feasibility.probability(X)
    rows = np.flatnonzero(probability >= LIKELY)
    if len(rows) > 0:
        return rows
    # Far from the limits every probability is 0
    order = np.lexsort((feasibility.violation(X), -probability))
    return np.sort(order[:SMALLEST_START])


def all_points(snapshot: Snapshot) -> Floats:
    told = [known_points(snapshot, i) for i in range(snapshot.F.shape[1])]
    return np.vstack([*told, snapshot.pool.X, snapshot.running.X])
