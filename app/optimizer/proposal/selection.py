"""The selection of points from the final population, and what completes a batch when
they are too few.

| symbol | here                | meaning                                                              |
|--------|---------------------|----------------------------------------------------------------------|
| u      | `snapshot.batch`    | full samples to propose                                              |
| r_j    | `problem.ratios[j]` | u (r_j - 1) more samples are proposed for cheap objective j alone    |
| FE, FE_max | `settled`, `budget` | the weight of the angle is (FE / FE_max)^2                       |
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.fit_models import Models
from app.optimizer.problem import Problem, Variables
from app.optimizer.proposal.acquisition import adaptive, to_unit_range, variance_weight
from app.optimizer.proposal.proposal import Diagnostics, Proposal, Source
from app.optimizer.search.design import filling
from app.optimizer.search.novelty import is_new, take_new
from app.optimizer.search.operators import breed
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.search.rvea import select as select_by_angle
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Strategy

ROUNDS = 3  # broods of offspring tried before the rest is filled with Latin hypercubes
BROOD = 50  # offspring of one round, at least
# max-norm between the points of a batch when there is one objective: else all are next
# to each other
APART = 0.01


@dataclass(frozen=True, slots=True)
class Drawn:
    """Points, and the source of each."""

    points: Floats  # (k, d)
    sources: tuple[Source, ...]


def select(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    models: Models,
    population: Floats,
    rng: Generator,
) -> Proposal:
    mu, v = models.means_and_variances(population)  # (N, m), (N, m)
    alpha = variance_weight(snapshot.settled, snapshot.budget)
    # (N, m)
    penalty = strategy.penalty(
        to_unit_range(mu), np.array(problem.ratios), snapshot.step
    )
    if problem.m == 1:
        selected = best_distinct(population, mu[:, 0])
    else:
        score = adaptive(mu, v, alpha, strategy.scaling) * penalty  # [SBP-BO] Eq. (5)
        V = reference_vectors(problem.m, strategy.lattice)  # (K, m)
        theta = min(snapshot.settled / snapshot.budget, 1.0) ** 2
        selected = rng.permutation(select_by_angle(score, V, theta))
    full, cheap = _draw(problem, snapshot, population, selected, rng)
    diagnostics = Diagnostics(
        models=models.reports,
        alpha=alpha,
        sbp=_column_ranges(penalty),
        population=len(population),
        full_sources=full.sources,
        cheap_sources=tuple(drawn.sources for drawn in cheap),
    )
    cheap_points = tuple(drawn.points for drawn in cheap)
    shortfall = _shortfall(problem, snapshot, full.points, cheap_points)
    return Proposal(
        full.points, cheap_points, diagnostics, models, population, shortfall
    )


def best_distinct(X: Floats, mu: Floats) -> Ints:
    """Rows of X by their means, best first, without those that are next to a better
    one.
    """
    # Differs from [SBP-BO]: it supposes several objectives.
    order = np.argsort(mu, kind="stable")
    return order[is_new(X[order], X[:0], APART)]


def extra_count(problem: Problem, batch: int, j: int) -> int:
    """u (r_j - 1): how often cheap objective j can be evaluated besides the batch."""
    return batch * (int(problem.ratios[j]) - 1) if j in problem.cheap else 0


def known_points(snapshot: Snapshot, i: int) -> Floats:
    """Every point that was proposed for objective i, or has a value of it, (k, d)."""
    parts = [
        snapshot.taken[i],
        snapshot.X,
        snapshot.partial[i].X,
        snapshot.extra[i].X,
        snapshot.infeasible[i],
        snapshot.pending[i],
    ]
    frozen = snapshot.frozen[i]
    if frozen is not None:
        parts.append(frozen.X)
    return np.vstack(parts)


def _draw(
    problem: Problem, snapshot: Snapshot, X: Floats, selected: Ints, rng: Generator
) -> tuple[Drawn, list[Drawn]]:
    """Points for all objectives, then, independently, further ones for each objective."""
    known = [known_points(snapshot, i) for i in range(problem.m)]
    candidates = _candidates(problem.variables, X, selected, snapshot.batch, rng)
    full = Drawn(*take_new(candidates, snapshot.batch, np.vstack(known)))
    cheap = []
    for j in range(problem.m):
        count = extra_count(problem, snapshot.batch, j)
        order = selected if problem.m == 1 else rng.permutation(selected)
        candidates = _candidates(problem.variables, X, order, count, rng)
        taken = np.vstack([known[j], full.points])
        cheap.append(Drawn(*take_new(candidates, count, taken)))
    return full, cheap


def _candidates(
    variables: Variables, X: Floats, selected: Ints, count: int, rng: Generator
) -> Iterator[tuple[Source, Floats]]:
    """Best source first; each is computed only if those before it were not enough."""
    # Differs from [SBP-BO]: it draws from the selected points, which are often fewer
    # than u r_j.
    yield "selected", X[selected]
    others = np.setdiff1d(np.arange(len(X)), selected)
    yield "population", X[rng.permutation(others)]
    size = max(count, BROOD)
    for _ in range(ROUNDS):
        mothers, fathers = rng.integers(len(X), size=(2, size))
        yield "offspring", breed(variables, X[mothers], X[fathers], rng)
    for points in filling(variables, size, rng):
        yield "latin", points


def _column_ranges(values: Floats) -> tuple[tuple[float, float], ...]:
    """(min, max) of each column."""
    columns = zip(values.min(axis=0), values.max(axis=0), strict=True)
    return tuple((float(low), float(high)) for low, high in columns)


def _shortfall(
    problem: Problem, snapshot: Snapshot, full: Floats, cheap: tuple[Floats, ...]
) -> str | None:
    missing = []
    if len(full) < snapshot.batch:
        missing.append(f"{snapshot.batch - len(full)} of {snapshot.batch} full samples")
    for j, points in enumerate(cheap):
        count = extra_count(problem, snapshot.batch, j)
        if len(points) < count:
            missing.append(
                f"{count - len(points)} of {count} samples for objective {problem.objectives[j].name!r}"
            )
    if not missing:
        return None
    return f"no new point was found for {', '.join(missing)}: all that the variables allow has been proposed before"
