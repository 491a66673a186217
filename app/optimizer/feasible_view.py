"""A problem with limits as one without: full samples that keep the limits are the data,
the values of others still train the models of their own objectives.

| symbol | here           | meaning                                                     |
|--------|----------------|-------------------------------------------------------------|
| D      | `snapshot.X`   | feasible full samples; with fewer than two, the nearest too |
| –      | `others`       | the other full samples                                      |
| –      | `Tail`         | how values beyond the worst feasible one are compressed     |
"""

from dataclasses import dataclass, replace

import numpy as np

from app.optimizer.arrays import Bools, Floats, Ints
from app.optimizer.limits import Limit, compress, total_violation
from app.optimizer.models.kriging.standardise import is_constant
from app.optimizer.problem import Problem
from app.optimizer.samples import Samples
from app.optimizer.snapshot import Data, Snapshot

LEAST = 2  # so that objectives have ranges


@dataclass(frozen=True, slots=True)
class Tail:
    """Values beyond the worst feasible one lose their differences: those of infeasible
    samples can be a million times larger, and would spoil the model where it matters.
    """

    worst: float
    spread: float  # of feasible values; 0: nothing is compressed

    def apply(self, y: Floats) -> Floats:
        if self.spread <= 0.0:
            return y
        beyond = compress(np.maximum(y - self.worst, 0.0), self.spread)
        return np.asarray(np.minimum(y, self.worst) + self.spread * beyond)

    def apply_to(self, data: Data) -> Data:
        return Data(data.X, self.apply(data.y))

    def limit(self, limit: Limit) -> Limit:
        lower, upper = self.apply(np.array([limit.lower, limit.upper]))
        return Limit(float(lower), float(upper))


@dataclass(frozen=True, slots=True, eq=False)
class FeasibleView:
    problem: Problem  # objectives only, without limits
    snapshot: Snapshot
    others: Floats  # (k, D)
    limits: tuple[Limit, ...]  # of objectives, in the view's values


def is_limited(problem: Problem, snapshot: Snapshot) -> bool:
    limited = any(limit.is_limited for limit in problem.limits)
    return limited or snapshot.has_infeasible


def feasible_view(
    problem: Problem, snapshot: Snapshot, least: int = LEAST
) -> FeasibleView:
    """Without limits, the problem and the snapshot unchanged. `least`: how many full
    samples D has at least, if there are as many.
    """
    m = problem.m
    if not is_limited(problem, snapshot):
        return FeasibleView(problem, snapshot, snapshot.X[:0], problem.limits)
    kept, left = divide(problem, snapshot, least)
    tails = tuple(tail_of(values) for values in snapshot.F[kept, :m].T)
    partial = []
    for i in range(m):
        own = snapshot.partial[i]
        X = np.vstack([own.X, snapshot.X[left]])
        partial.append(Data(X, np.append(own.y, snapshot.F[left, i])))
    view = replace(
        _of_objectives(snapshot, tails),
        X=snapshot.X[kept],
        F=snapshot.F[kept, :m],
        full_steps=snapshot.steps_of_full[kept],
        partial=_without_tails(partial, tails),
    )
    limits = zip(tails, problem.limits[:m], strict=True)
    return FeasibleView(
        objectives_of(problem),
        view,
        snapshot.X[left],
        tuple(tail.limit(limit) for tail, limit in limits),
    )


def divide(problem: Problem, snapshot: Snapshot, least: int) -> tuple[Ints, Ints]:
    """Rows of the full samples that count as feasible, and of the others, the nearest
    first.

    If fewer than `least` samples keep all limits, the nearest others count as feasible,
    too.
    """
    F = snapshot.F
    spread = np.ptp(F, axis=0) if len(F) else np.ones(F.shape[1])
    violation = total_violation(problem.limits, F, spread)
    # By points where equal, so that the order of rows has no effect
    order = np.lexsort((*snapshot.X.T, violation))
    count = max(int((violation == 0.0).sum()), min(least, len(F)))
    return order[:count], order[count:]


def tail_of(values: Floats) -> Tail:
    if len(values) == 0 or bool(is_constant(values)):
        return Tail(0.0, 0.0)
    return Tail(float(values.max()), float(np.ptp(values)))


def objectives_of(problem: Problem) -> Problem:
    m = problem.m
    objectives = tuple(
        replace(objective, lower=None, upper=None) for objective in problem.objectives
    )
    return replace(
        problem,
        objectives=objectives,
        ratios=problem.ratios[:m],
        constraints=(),
        fixed_cheap=tuple(i for i in problem.cheap if i < m),
    )


def _of_objectives(snapshot: Snapshot, tails: tuple[Tail, ...]) -> Snapshot:
    """The objectives' parts of the snapshot, without tails; infeasible points count as
    taken only.
    """
    m = len(tails)
    nothing = snapshot.X[:0]
    frozen = tuple(
        None if data is None else tail.apply_to(data)
        for data, tail in zip(snapshot.frozen[:m], tails, strict=True)
    )
    taken = tuple(
        np.vstack([points, *snapshot.infeasible]) for points in snapshot.taken[:m]
    )
    return Snapshot(
        snapshot.step,
        snapshot.settled,
        snapshot.budget,
        snapshot.batch,
        nothing,
        np.empty((0, m)),
        extra=_without_tails(snapshot.extra[:m], tails),
        extra_steps=snapshot.extra_steps[:m],
        frozen=frozen,
        pending=snapshot.pending[:m],
        taken=taken,
        theta=snapshot.theta[:m],
        frozen_theta=snapshot.frozen_theta[:m],
        pool=_samples(snapshot.pool, tails),
        running=_samples(snapshot.running, tails),
        forecasts=snapshot.forecasts[:m],
        warm_starts=snapshot.warm_starts[:m],
    )


def _without_tails(
    data: list[Data] | tuple[Data, ...], tails: tuple[Tail, ...]
) -> tuple[Data, ...]:
    pairs = zip(tails, data, strict=True)
    return tuple(tail.apply_to(values) for tail, values in pairs)


def _samples(samples: Samples, tails: tuple[Tail, ...]) -> Samples:
    m = len(tails)
    known: Bools = samples.known[:, :m]
    columns = zip(tails, samples.F[:, :m].T, strict=True)
    F = np.array([tail.apply(values) for tail, values in columns])
    values = np.where(known, F.T.reshape(known.shape), 0.0)
    return Samples(samples.X, values, known, samples.steps)
