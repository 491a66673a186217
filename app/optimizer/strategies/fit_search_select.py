"""The step of [SBP-BO]: fit the models, search on them, select points of the final
population.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.feasible_view import FeasibleView, feasible_view
from app.optimizer.models.fit_evidence_models import fit_evidence_models
from app.optimizer.models.fit_feasibility import fit_feasibility
from app.optimizer.models.fit_models import fit_models
from app.optimizer.models.step_models import Models
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal, Timings
from app.optimizer.proposal.selection import select
from app.optimizer.search.design import latin
from app.optimizer.search.genetic_algorithm import minimise
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.search.rvea import adapt, evolve
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import ModelFamily, Resources, Strategy

# with fewer complete samples than this, the search also starts from a Latin hypercube
SMALLEST_START = 20
MODELS: dict[ModelFamily, Callable[..., Models]] = {
    "paper": fit_models,
    "evidence": fit_evidence_models,
}


def fit_search_select(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    resources: Resources,
) -> Proposal:
    """Neither the order of rows nor the resources change the points."""
    clock = resources.clock
    started = clock()
    view = view_of(problem, snapshot, strategy)
    is_same = view.snapshot is snapshot
    models = MODELS[strategy.models](
        view.problem,
        view.snapshot,
        strategy,
        rng,
        fit=resources.fit,
        truth=resources.truth,
        # What is a tail changes with the samples
        frozen=resources.frozen if is_same else (),
    )
    if not is_same:
        limits = fit_feasibility(
            problem, snapshot, view, models.surrogates, rng, resources.fit
        )
        reports = (*models.reports, *limits.reports)
        models = replace(models, reports=reports, feasibility=limits.feasibility)
    fitted = clock()
    population = search(problem, strategy, models, rng, view.others)
    searched = clock()
    proposal = select(problem, snapshot, strategy, models, population, rng)
    timings = Timings(fitted - started, searched - fitted, clock() - searched)
    return replace(proposal, timings=timings)


def view_of(problem: Problem, snapshot: Snapshot, strategy: Strategy) -> FeasibleView:
    """With the rule `worst`, infeasible points are left to the models."""
    if strategy.infeasible == "worst":
        return FeasibleView(problem, snapshot, snapshot.X[:0], problem.limits)
    return feasible_view(problem, snapshot)


def search(
    problem: Problem,
    strategy: Strategy,
    models: Models,
    rng: Generator,
    others: Floats | None = None,
) -> Floats:
    """The final population, (N, d), of an evolutionary algorithm on the predicted
    means, which starts from the models' samples and these others.
    """
    variables, w_max = problem.variables, strategy.w_max
    limits = models.feasibility
    violation = None if limits is None else limits.violation
    X = models.X if others is None else np.vstack([models.X, others])
    if len(X) < SMALLEST_START:
        more = latin(variables, SMALLEST_START - len(X), rng)
        X = np.vstack([X, more])
    if problem.m == 1:
        population, _ = minimise(variables, models.means, X, w_max, rng, violation)
        return population
    V0 = reference_vectors(problem.m, strategy.lattice)  # (K, m)
    if strategy.scaling == "paper":
        adapted = adapt(V0, models.spread)
        population, _ = evolve(
            variables, models.means, X, V0, adapted, w_max, rng, violation
        )
        return population
    # Differs from [SBP-BO]: with raw means the angles, and so the result, depend on the
    # units of the objectives.
    spread = np.where(models.spread > 0.0, models.spread, 1.0)  # (m,)

    def scaled_means(X: Floats) -> Floats:
        return (models.means(X) - models.low) / spread

    population, _ = evolve(variables, scaled_means, X, V0, V0, w_max, rng, violation)
    return population
