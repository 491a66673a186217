"""The selection of points from the final population, and what completes a batch when
they are too few.

| symbol | here                | meaning                                                              |
|--------|---------------------|----------------------------------------------------------------------|
| u      | `snapshot.batch`    | full samples to propose                                              |
| r_j    | `problem.ratios[j]` | u (r_j - 1) more samples are proposed for cheap objective j alone    |
| FE, FE_max | `settled`, `budget` | the weight of the angle is (FE / FE_max)^2                       |
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.step_models import Models
from app.optimizer.problem import Problem
from app.optimizer.proposal.acquisition import adaptive, to_unit_range, variance_weight
from app.optimizer.proposal.full_sample_report import predicted_reports
from app.optimizer.proposal.proposal import Diagnostics, Proposal, Source
from app.optimizer.proposal.sources import Preference, point_sources
from app.optimizer.search.novelty import is_new, take_new
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.search.rvea import select as select_by_angle
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Strategy

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
    preference = Preference(models.feasibility)
    likely = np.flatnonzero(preference.is_likely(population))  # (l,)
    competing = likely if len(likely) > 0 else np.arange(len(population))
    mu, v = models.means_and_variances(population[competing])  # (l, m), (l, m)
    alpha = variance_weight(snapshot.settled, snapshot.budget)
    # (l, m)
    penalty = strategy.penalty(
        to_unit_range(mu), np.array(problem.ratios[: problem.m]), snapshot.step
    )
    if len(likely) == 0:
        selected = preference.most_probable_first(population)
    elif problem.m == 1:
        selected = competing[best_distinct(population[competing], mu[:, 0])]
    else:
        score = adaptive(mu, v, alpha, strategy.scaling) * penalty  # [SBP-BO] Eq. (5)
        V = reference_vectors(problem.m, strategy.lattice)  # (K, m)
        theta = min(snapshot.settled / snapshot.budget, 1.0) ** 2
        selected = rng.permutation(competing[select_by_angle(score, V, theta)])
    full, cheap = _draw(
        problem,
        snapshot,
        population,
        selected,
        preference,
        rng,
        in_order=problem.m == 1 or len(likely) == 0,
    )
    diagnostics = Diagnostics(
        models=models.reports,
        alpha=alpha,
        sbp=_column_ranges(penalty),
        population=len(population),
        full_sources=full.sources,
        cheap_sources=tuple(drawn.sources for drawn in cheap),
        full_samples=predicted_reports(models, full.points),
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
    problem: Problem,
    snapshot: Snapshot,
    X: Floats,
    selected: Ints,
    preference: Preference,
    rng: Generator,
    *,
    in_order: bool,
) -> tuple[Drawn, list[Drawn]]:
    """Points for all outputs, then, independently, further ones for each output.

    `in_order`: the selected are sorted, best first; else all are as good.
    """
    outputs = range(len(problem.outputs))
    known = [known_points(snapshot, i) for i in outputs]
    candidates = point_sources(
        problem.variables, X, selected, snapshot.batch, preference, rng
    )
    full = Drawn(*take_new(candidates, snapshot.batch, np.vstack(known)))
    cheap = []
    for j in outputs:
        count = extra_count(problem, snapshot.batch, j)
        order = selected if in_order else rng.permutation(selected)
        candidates = point_sources(problem.variables, X, order, count, preference, rng)
        taken = np.vstack([known[j], full.points])
        cheap.append(Drawn(*take_new(candidates, count, taken)))
    return full, cheap


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
                f"{count - len(points)} of {count} samples for objective {problem.outputs[j].name!r}"
            )
    if not missing:
        return None
    return f"no new point was found for {', '.join(missing)}: all that the variables allow has been proposed before"
