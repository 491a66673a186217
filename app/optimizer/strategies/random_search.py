"""`random`: a Latin hypercube at every step, the floor of every comparison."""

import numpy as np
from numpy.random import Generator

from app.optimizer.problem import Problem
from app.optimizer.proposal.batch import (
    make_proposal,
    no_extras,
    no_models,
    offspring_of,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.waiting import NO_STREAMS


def random_step(
    problem: Problem,
    snapshot: Snapshot,
    _strategy: Strategy,
    rng: Generator,
    _resources: Resources,
) -> Proposal:
    no_parents = np.empty((0, problem.width))
    points = offspring_of(problem.variables, no_parents, snapshot.batch, rng)
    full = take_full(problem, snapshot, points)
    models = no_models(problem, snapshot)
    return make_proposal(
        problem, snapshot, models, no_parents, full, no_extras(problem)
    )


RANDOM = Strategy(step=random_step, initial=NO_STREAMS)
