"""`hk-rvea`: K-RVEA whose models of cheap objectives also learn from extras that genetic
operators made ([HK-RVEA], Chugh et al. 2018; any number of objectives as in [SBP-BO]).

| symbol | here              | meaning                                                   |
|--------|-------------------|-----------------------------------------------------------|
| P      | `full.points`     | the batch that is evaluated on all objectives             |
| r_j    | `problem.ratios`  | (r_j - 1) offspring of P per point, for cheap objective j |
"""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Ints
from app.optimizer.models.fit_models import fit_models
from app.optimizer.models.training_data import clustered_subset
from app.optimizer.problem import Problem
from app.optimizer.proposal.batch import (
    candidates,
    extra_counts,
    make_proposal,
    offspring_of,
    take_common,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal, Timings
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.k_rvea import (
    ALPHA,
    archive_rows,
    choose,
    in_canonical_order,
    needs_several_objectives,
    scaled_archive,
    search,
)
from app.optimizer.strategies.strategy import Resources, Strategy

MOST = 500  # values of a cheap objective that its model learns from


def hk_rvea_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    resources: Resources,
) -> Proposal:
    snapshot = in_canonical_order(snapshot)
    clock = resources.clock
    started = clock()
    rows = archive_rows(snapshot, 11 * problem.d - 1, rng)
    archive = with_archive(snapshot, rows, problem.cheap)
    models = fit_models(problem, archive, strategy, rng, fit=resources.fit)
    fitted = clock()
    # Differs from [HK-RVEA]: its exponent is 0.5. With that of K-RVEA the results are
    # near those of the column in [SBP-BO].
    found = search(problem, strategy, models, ALPHA, rng)
    searched = clock()
    chosen = choose(found, scaled_archive(models, strategy), snapshot.batch, rng)
    points = candidates(problem.variables, found.X[chosen], found.X, rng)
    full = take_full(problem, snapshot, points)
    count = int(extra_counts(problem, snapshot.batch).max())
    children = offspring_of(problem.variables, full.points, count, rng)
    cheap = take_common(problem, snapshot, full.points, children)
    proposal = make_proposal(problem, snapshot, models, found.X, full, cheap)
    timings = Timings(fitted - started, searched - fitted, clock() - searched)
    return replace(proposal, timings=timings)


def with_archive(snapshot: Snapshot, rows: Ints, cheap: tuple[int, ...]) -> Snapshot:
    """The snapshot with these full samples; the others count as extras of the cheap
    objectives.
    """
    left = np.setdiff1d(np.arange(len(snapshot.X)), rows)
    steps = snapshot.steps_of_full
    extra, extra_steps = list(snapshot.extra), list(snapshot.extra_steps)
    for j in cheap:
        own = snapshot.extra[j]
        X = np.vstack([own.X, snapshot.X[left]])
        extra[j] = Data(X, np.append(own.y, snapshot.F[left, j]))
        extra_steps[j] = np.append(extra_steps[j], steps[left])
    return replace(
        snapshot,
        X=snapshot.X[rows],
        F=snapshot.F[rows],
        full_steps=steps[rows],
        extra=tuple(extra),
        extra_steps=tuple(extra_steps),
    )


HK_RVEA = Strategy(
    step=hk_rvea_step,
    train=clustered_subset,
    size=MOST,
    refusal=needs_several_objectives,
)
