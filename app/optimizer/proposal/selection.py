"""Which points of the final population are evaluated next, and what fills up when they are too few.

| symbol | here                | meaning                                                              |
|--------|---------------------|----------------------------------------------------------------------|
| u      | `snapshot.batch`    | full samples to propose                                              |
| r_j    | `problem.ratios[j]` | u (r_j - 1) more samples are proposed for cheap objective j alone    |
| FE, FE_max | `settled`, `budget` | the weight of the angle is (FE / FE_max)^2                       |
"""

from collections.abc import Iterator

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.fit_models import Models
from app.optimizer.problem import Problem, Variable
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
APART = 0.01  # max-norm between the points of a batch when there is one objective: else all lie in the same spot


def select(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    models: Models,
    population: Floats,
    rng: np.random.Generator,
) -> Proposal:
    mu, v = models.means_and_variances(population)  # (N, m), (N, m)
    alpha = variance_weight(snapshot.settled, snapshot.budget)
    penalty = strategy.penalty(to_unit_range(mu), np.array(problem.ratios), snapshot.step)  # (N, m)
    if problem.m == 1:
        selected = best_distinct(population, mu[:, 0])
    else:
        score = adaptive(mu, v, alpha, strategy.scaling) * penalty  # [SBP-BO] Eq. (5)
        theta = min(snapshot.settled / snapshot.budget, 1.0) ** 2
        selected = rng.permutation(select_by_angle(score, reference_vectors(problem.m, strategy.lattice), theta))
    full, full_sources, cheap, cheap_sources = _draw(problem, snapshot, population, selected, rng)
    bounds = zip(penalty.min(axis=0), penalty.max(axis=0), strict=True)
    diagnostics = Diagnostics(
        models=models.reports,
        alpha=alpha,
        sbp=tuple((float(low), float(high)) for low, high in bounds),
        population=len(population),
        full_sources=full_sources,
        cheap_sources=cheap_sources,
    )
    shortfall = _shortfall(problem, snapshot, full, cheap)
    return Proposal(full, cheap, diagnostics, models, population, shortfall)


def best_distinct(X: Floats, mu: Floats) -> Ints:
    """Rows of X by their means, from the best, without those that are next to a better one."""
    # Differs from [SBP-BO]: it supposes several objectives.
    order = np.argsort(mu, kind="stable")
    return order[is_new(X[order], X[:0], APART)]


def extra_count(problem: Problem, batch: int, j: int) -> int:
    """u (r_j - 1): how often cheap objective j can be evaluated besides the batch."""
    return batch * (int(problem.ratios[j]) - 1) if j in problem.cheap else 0


def known_points(snapshot: Snapshot, i: int) -> Floats:
    """Every point that objective i was asked for or told about, (k, d)."""
    frozen = snapshot.frozen[i]
    parts = [snapshot.taken[i], snapshot.X, snapshot.partial[i].X, snapshot.extra[i].X]
    parts += [snapshot.infeasible[i], snapshot.pending[i]]
    return np.vstack(parts if frozen is None else [*parts, frozen.X])


def _draw(
    problem: Problem, snapshot: Snapshot, X: Floats, selected: Ints, rng: np.random.Generator
) -> tuple[Floats, tuple[Source, ...], tuple[Floats, ...], tuple[tuple[Source, ...], ...]]:
    """Points for all objectives, then, independently, further ones for each cheap objective."""
    known = [known_points(snapshot, i) for i in range(problem.m)]
    sources = _candidates(problem.variables, X, selected, snapshot.batch, rng)
    full, full_sources = take_new(sources, snapshot.batch, np.vstack(known))
    cheap, cheap_sources = [], []
    for j in range(problem.m):
        count = extra_count(problem, snapshot.batch, j)
        order = selected if problem.m == 1 else rng.permutation(selected)
        sources = _candidates(problem.variables, X, order, count, rng)
        points, names = take_new(sources, count, np.vstack([known[j], full]))
        cheap.append(points)
        cheap_sources.append(names)
    return full, full_sources, tuple(cheap), tuple(cheap_sources)


def _candidates(
    variables: tuple[Variable, ...], X: Floats, selected: Ints, count: int, rng: np.random.Generator
) -> Iterator[tuple[Source, Floats]]:
    """From the best source to the last resort; each is made only if those before it were not enough."""
    # Differs from [SBP-BO]: it draws from the selected points, which are often fewer than u r_j.
    yield "selected", X[selected]
    yield "population", X[rng.permutation(np.setdiff1d(np.arange(len(X)), selected))]
    for _ in range(ROUNDS):
        parents = rng.integers(len(X), size=(2, max(count, BROOD)))
        yield "offspring", breed(variables, X[parents[0]], X[parents[1]], rng)
    for points in filling(variables, max(count, BROOD), rng):
        yield "latin", points


def _shortfall(problem: Problem, snapshot: Snapshot, full: Floats, cheap: tuple[Floats, ...]) -> str | None:
    missing = [f"{snapshot.batch - len(full)} of {snapshot.batch} full samples"] if len(full) < snapshot.batch else []
    for j, points in enumerate(cheap):
        count = extra_count(problem, snapshot.batch, j)
        if len(points) < count:
            missing.append(f"{count - len(points)} of {count} samples for objective {problem.objectives[j].name!r}")
    if not missing:
        return None
    return f"no new point was found for {', '.join(missing)}: all that the variables allow has been proposed before"
