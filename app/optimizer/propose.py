"""One step of the optimiser: fit the models, search on them, select points of the final
population.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_models import FrozenModels, Map, Models, fit_models
from app.optimizer.models.surrogate import Truth
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal, Timings
from app.optimizer.proposal.selection import select
from app.optimizer.search.design import latin
from app.optimizer.search.genetic_algorithm import minimise
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.search.rvea import adapt, evolve
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Strategy

# with fewer complete samples than this, the search also starts from a Latin hypercube
SMALLEST_START = 20


def no_clock() -> float:
    return 0.0


def propose(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    *,
    fit: Map = map,
    truth: Mapping[int, Truth] | None = None,
    frozen: FrozenModels = (),
    clock: Callable[[], float] = no_clock,
) -> Proposal:
    """The points to evaluate next: a pure function of the arguments and of the
    generator's state.

    `fit`: maps fits over objectives, in parallel if it is an executor's. `truth`: the
    cheap objectives themselves, for strategies that call them. `frozen`: an earlier
    proposal's `models.frozen`. `clock`: measures `Proposal.timings`. Neither the order
    of rows nor `fit`, `frozen` or `clock` changes the points.
    """
    started = clock()
    models = fit_models(
        problem, snapshot, strategy, rng, fit=fit, truth=truth, frozen=frozen
    )
    fitted = clock()
    population = search(problem, strategy, models, rng)
    searched = clock()
    proposal = select(problem, snapshot, strategy, models, population, rng)
    timings = Timings(fitted - started, searched - fitted, clock() - searched)
    return replace(proposal, timings=timings)


def search(
    problem: Problem, strategy: Strategy, models: Models, rng: Generator
) -> Floats:
    """The final population, (N, d), of an evolutionary algorithm on the predicted
    means.
    """
    variables, w_max = problem.variables, strategy.w_max
    X = models.X
    if len(X) < SMALLEST_START:
        more = latin(variables, SMALLEST_START - len(X), rng)
        X = np.vstack([X, more])
    if problem.m == 1:
        population, _ = minimise(variables, models.means, X, w_max, rng)
        return population
    V0 = reference_vectors(problem.m, strategy.lattice)  # (K, m)
    if strategy.scaling == "paper":
        adapted = adapt(V0, models.spread)
        population, _ = evolve(variables, models.means, X, V0, adapted, w_max, rng)
        return population
    # Differs from [SBP-BO]: with raw means the angles, and so the result, depend on the
    # units of the objectives.
    spread = np.where(models.spread > 0.0, models.spread, 1.0)  # (m,)

    def scaled_means(X: Floats) -> Floats:
        return (models.means(X) - models.low) / spread

    population, _ = evolve(variables, scaled_means, X, V0, V0, w_max, rng)
    return population
