"""`rvea`: the reference vector guided evolutionary algorithm on true values, without
models ([RVEA]). Cheap objectives wait for the expensive ones.

| symbol     | here                | meaning                                        |
|------------|---------------------|------------------------------------------------|
| FE, FE_max | `settled`, `budget` | the weight of the angle is (FE / FE_max)^2     |
"""

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Problem
from app.optimizer.proposal.batch import (
    candidates,
    make_proposal,
    no_extras,
    no_models,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.search.rvea import adapt, offspring, select
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.k_rvea import in_canonical_order
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.waiting import NO_STREAMS


def rvea_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    _resources: Resources,
) -> Proposal:
    snapshot = in_canonical_order(snapshot)
    models = no_models(problem, snapshot)
    parents = snapshot.X[:0]
    children = parents
    if len(snapshot.X) > 0:
        parents = snapshot.X[survivors(snapshot, snapshot.F, strategy)]
        children = offspring(problem.variables, parents, rng)
    # Not the parents themselves: they have all their values
    points = candidates(problem.variables, children, children, rng)
    full = take_full(problem, snapshot, points)
    return make_proposal(problem, snapshot, models, parents, full, no_extras(problem))


def survivors(snapshot: Snapshot, F: Floats, strategy: Strategy) -> Ints:
    """Rows of F (n, m), n >= 1, that RVEA keeps: one for each vector that has any."""
    # Differs from [RVEA]: it selects from the last population and its offspring; here
    # from all samples, so that a step depends on nothing else.
    m = F.shape[1]
    if m == 1:
        return np.argsort(F[:, 0], kind="stable")[:50]
    theta = min(snapshot.settled / snapshot.budget, 1.0) ** 2
    V0 = reference_vectors(m, strategy.lattice)  # (K, m)
    spread = np.ptp(F, axis=0)
    if strategy.scaling == "paper":
        return select(F, adapt(V0, spread), theta)
    return select(F / np.where(spread > 0.0, spread, 1.0), V0, theta)


TRUE_RVEA = Strategy(step=rvea_step, initial=NO_STREAMS)
