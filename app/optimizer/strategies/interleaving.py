"""`brood-interleaving` and `speculative-interleaving`: while expensive objectives run,
offspring are evaluated on the cheap ones; the best of them are evaluated on the others
(Allmendinger et al. 2013, 2015).

| symbol | here              | meaning                                                  |
|--------|-------------------|----------------------------------------------------------|
| u      | `snapshot.batch`  | samples that get their expensive values                  |
| r_j    | `problem.ratios`  | u r_j offspring are evaluated on cheap objective j       |
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from scipy.spatial import KDTree

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.training_data import by_quality
from app.optimizer.problem import Problem
from app.optimizer.proposal.batch import (
    make_proposal,
    no_models,
    offspring_of,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.proposal.selection import Drawn, known_points
from app.optimizer.samples import Samples
from app.optimizer.search.novelty import take_new
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.counterpoise.cheap_points import extra_counts
from app.optimizer.strategies.initial_phase import COMMON_POINTS
from app.optimizer.strategies.k_rvea import in_canonical_order
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.true_rvea import survivors

# Rows of the pool, best first, and the parents of the next offspring
Choice = Callable[[Problem, Snapshot, Strategy], tuple[Ints, Floats]]


def brood(
    problem: Problem, snapshot: Snapshot, strategy: Strategy
) -> tuple[Ints, Floats]:
    """The newest offspring by their cheap values; parents are full samples."""
    rows = usable(snapshot.pool, problem.cheap)
    newest = rows[snapshot.pool.steps[rows] == snapshot.pool.steps[rows].max(initial=0)]
    older = np.setdiff1d(rows, newest)
    cheap = list(problem.cheap)
    ranked = [
        part[by_quality(snapshot.pool.F[part][:, cheap])]
        for part in (newest, older)
        if len(part) > 0
    ]
    order = np.concatenate([rows[:0], *ranked])
    parents = snapshot.X[:0]
    if len(snapshot.X) > 0:
        parents = snapshot.X[survivors(snapshot, snapshot.F, strategy)]
    return order, parents


def speculative(
    problem: Problem, snapshot: Snapshot, strategy: Strategy
) -> tuple[Ints, Floats]:
    """Offspring by all their values, the expensive ones those of the nearest full
    sample; parents are the best of both.
    """
    rows = usable(snapshot.pool, problem.cheap)
    if len(snapshot.X) == 0:
        return rows, snapshot.pool.X[rows]
    F = pseudo_values(snapshot.pool.rows(rows), snapshot.X, snapshot.F)
    X = np.vstack([snapshot.X, snapshot.pool.X[rows]])
    kept = survivors(snapshot, np.vstack([snapshot.F, F]), strategy)
    order = rows[by_quality(F)] if len(rows) > 0 else rows
    return order, X[kept]


def usable(pool: Samples, cheap: tuple[int, ...]) -> Ints:
    """Rows of the pool that have all cheap values, sorted by their points."""
    rows = np.flatnonzero(pool.known[:, list(cheap)].all(axis=1))
    return rows[np.lexsort(pool.X[rows].T)]


def pseudo_values(samples: Samples, X: Floats, F: Floats) -> Floats:
    """(N, m): what is unknown is inherited from the nearest full sample."""
    _, nearest = KDTree(X).query(samples.X)
    return np.where(samples.known, samples.F, F[nearest])


def interleave(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    choice: Choice,
) -> Proposal:
    # Differs from the source: it runs r - 1 inner generations one after another; here
    # the extras of a step are one generation, because they are asked for at once.
    snapshot = in_canonical_order(snapshot)
    ranked, parents = choice(problem, snapshot, strategy)
    promoted = ranked[: snapshot.batch]
    missing = replace(snapshot, batch=snapshot.batch - len(promoted))
    points = offspring_of(problem.variables, parents, missing.batch, rng)
    full = take_full(problem, missing, points)
    needed = (~snapshot.pool.known[promoted]).sum(axis=0) + len(full.points)
    counts = extra_counts(problem, snapshot.batch, needed.astype(np.int64))
    cheap = _extras(problem, snapshot, parents, full.points, counts, rng)
    models = no_models(problem, snapshot)
    return make_proposal(problem, snapshot, models, parents, full, cheap, promoted)


def _extras(
    problem: Problem,
    snapshot: Snapshot,
    parents: Floats,
    full: Floats,
    counts: Ints,
    rng: Generator,
) -> tuple[Drawn, ...]:
    """Common to all cheap objectives; the last ones are for the cheapest only."""
    known = [known_points(snapshot, i) for i in range(problem.m)]
    most = int(counts.max())
    points = offspring_of(problem.variables, parents, most, rng)
    X, sources = take_new(points, most, np.vstack([*known, snapshot.pool.X, full]))
    return tuple(Drawn(X[:count], sources[:count]) for count in counts)


def brood_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    _resources: Resources,
) -> Proposal:
    return interleave(problem, snapshot, strategy, rng, brood)


def speculative_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    _resources: Resources,
) -> Proposal:
    return interleave(problem, snapshot, strategy, rng, speculative)


BROOD_INTERLEAVING = Strategy(step=brood_step, initial=COMMON_POINTS)
SPECULATIVE_INTERLEAVING = Strategy(step=speculative_step, initial=COMMON_POINTS)
