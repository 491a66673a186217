"""`fast-first`: a genetic algorithm minimises each cheap objective, and its best points
are evaluated on all objectives (Allmendinger et al. 2015; several cheap objectives
take turns).
"""

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.training_data import values_of
from app.optimizer.problem import Problem
from app.optimizer.proposal.batch import (
    candidates,
    extra_counts,
    make_proposal,
    no_models,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal, Source
from app.optimizer.proposal.selection import Drawn, known_points
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.search.novelty import is_new
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.strategy import Resources, Strategy


def fast_first_step(
    problem: Problem,
    snapshot: Snapshot,
    _strategy: Strategy,
    rng: Generator,
    _resources: Resources,
) -> Proposal:
    told = {j: values_of(snapshot, j) for j in problem.cheap}
    ranked = [best_first(data, snapshot.X) for data in told.values()]
    chosen = in_turn(ranked)[: snapshot.batch]  # (k, d)
    # Not `take_full`: these points are known to the cheap objectives
    missing = snapshot.batch - len(chosen)
    promoted, fresh = pool_rows(chosen, snapshot.pool.X)
    selected: list[Source] = ["selected"] * len(fresh)
    full = Drawn(fresh, tuple(selected))
    if missing > 0:
        no_parents = np.empty((0, problem.width))
        others = take_full(
            problem,
            snapshot,
            candidates(problem.variables, no_parents, snapshot.X, rng),
        )
        points = np.vstack([fresh, others.points[:missing]])
        full = Drawn(points, (*full.sources, *others.sources[:missing]))
    counts = extra_counts(problem, snapshot.batch)
    taken = np.vstack([chosen, full.points])
    cheap = tuple(
        _generation(problem, snapshot, j, told.get(j), taken, counts, rng)
        for j in range(problem.m)
    )
    models = no_models(problem, snapshot)
    return make_proposal(problem, snapshot, models, chosen, full, cheap, promoted)


def pool_rows(points: Floats, pool: Floats) -> tuple[Ints, Floats]:
    """Rows of the pool (n, d) that are among the points, and the points that are not
    in the pool.
    """
    rows = {x.tobytes(): row for row, x in enumerate(pool)}
    found = [rows.get(x.tobytes(), -1) for x in points]
    numbers = np.array(found, dtype=np.int64)
    return numbers[numbers >= 0], points[numbers < 0]


def best_first(data: Data, full: Floats) -> Floats:
    """Points by their value, without those that are full samples already."""
    order = np.argsort(data.y, kind="stable")  # the data are sorted by point
    X = data.X[order]
    return X[is_new(X, full)]


def in_turn(ranked: list[Floats]) -> Floats:
    """The best of each list, then the second of each, …; each point once."""
    depth = max(map(len, ranked))
    rows = []
    for k in range(depth):
        rows += [X[k] for X in ranked if k < len(X)]
    points = np.array(rows).reshape(len(rows), ranked[0].shape[1])
    return points[is_new(points, points[:0])]


def _generation(
    problem: Problem,
    snapshot: Snapshot,
    j: int,
    data: Data | None,
    full: Floats,
    counts: Ints,
    rng: Generator,
) -> Drawn:
    if data is None:
        return Drawn(np.empty((0, problem.width)), ())
    taken = np.vstack([known_points(snapshot, j), full])
    ids = np.arange(len(data))
    X = next_generation(problem, data, ids, int(counts[j]), rng, taken)
    sources: list[Source] = ["offspring"] * len(X)
    return Drawn(X, tuple(sources))


def needs_cheap(problem: Problem) -> str | None:
    if problem.cheap:
        return None
    return (
        "strategy fast-first needs at least one cheap objective;"
        " declare evaluation times that differ, or choose rvea"
    )


FAST_FIRST = Strategy(step=fast_first_step, refusal=needs_cheap)
