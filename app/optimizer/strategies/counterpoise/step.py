"""One step of the strategy `counterpoise`: fit, search, promote pool samples, choose
extras.

| symbol | here                | meaning                                                           |
|--------|---------------------|-------------------------------------------------------------------|
| D      | `snapshot.X`, `.F`  | full samples complete on all objectives                           |
| –      | `snapshot.pool`     | cheap-only samples that can be promoted                           |
| u      | `snapshot.batch`    | full samples to propose                                           |
"""

from dataclasses import dataclass, replace

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.feasible_view import feasible_view
from app.optimizer.models.fit_feasibility import fit_feasibility
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal, Timings
from app.optimizer.search.design import latin
from app.optimizer.search.novelty import is_new
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.counterpoise.archive import (
    SMALLEST_START,
    StepContext,
    all_points,
    gather,
    in_canonical_order,
)
from app.optimizer.strategies.counterpoise.caution import caution_of
from app.optimizer.strategies.counterpoise.cheap_points import (
    extra_counts,
    extras_in_all,
)
from app.optimizer.strategies.counterpoise.directions import directions
from app.optimizer.strategies.counterpoise.extras import extra_points
from app.optimizer.strategies.counterpoise.gain import normal_draws
from app.optimizer.strategies.counterpoise.models.evidence_family import EVIDENCE
from app.optimizer.strategies.counterpoise.models.family import Family
from app.optimizer.strategies.counterpoise.models.kriging_family import KRIGING
from app.optimizer.strategies.counterpoise.models.objective_models import fit_objectives
from app.optimizer.strategies.counterpoise.promotion import choose_full_samples
from app.optimizer.strategies.counterpoise.report import (
    make_proposal,
    with_constraints,
)
from app.optimizer.strategies.counterpoise.search import evolve
from app.optimizer.strategies.counterpoise.settings import (
    CounterpoiseSettings,
    settings_for,
)
from app.optimizer.strategies.initial_phase import COMMON_POINTS
from app.optimizer.strategies.strategy import ModelFamily, Resources, Strategy

LENT_NOTHING = Resources()


def propose_by_promotion(
    problem: Problem,
    snapshot: Snapshot,
    settings: CounterpoiseSettings,
    rng: np.random.Generator,
    family: Family = EVIDENCE,
    resources: Resources = LENT_NOTHING,
) -> Proposal:
    """What to evaluate next: a pure function of its arguments and of the generator's
    state.
    """
    clock = resources.clock
    started = clock()
    snapshot, pool_order = in_canonical_order(snapshot)
    view = feasible_view(problem, snapshot, least=0)
    models = fit_objectives(
        view.problem, view.snapshot, settings, rng, family, resources.fit
    )
    limits = fit_feasibility(problem, snapshot, view, models.plain, rng, resources.fit)
    feasibility = limits.feasibility
    if feasibility is not None:
        caution = caution_of(problem, snapshot, settings)
        feasibility = replace(feasibility, caution=caution)
    fitted = clock()
    archive = gather(view.problem, view.snapshot, models, settings, rng, feasibility)
    archive = replace(archive, known=all_points(snapshot))
    W = directions(problem.m, settings)  # (K, m)
    draws = normal_draws(settings.samples, problem.m, rng)  # (S, m)
    context = StepContext(problem, settings, archive, W, draws)

    population = search(context, rng)  # (N, d)
    searched = clock()
    new = population[is_new(population, archive.known)]
    found = archive.predict(archive.likely(new))
    full = choose_full_samples(context, found, snapshot.batch, rng)
    # (m,)
    counts = extra_counts(
        problem, snapshot.batch, full.missing_evaluations(snapshot.pool)
    )
    extra_count = extras_in_all(counts, common=settings.common_points)
    extras, sources = extra_points(context, found, full.candidates.X, extra_count, rng)
    proposal = make_proposal(
        context, snapshot, full, extras, sources, counts, pool_order, population
    )
    proposal = with_constraints(proposal, limits.reports)
    timings = Timings(fitted - started, searched - fitted, clock() - searched)
    return replace(proposal, timings=timings)


def search(context: StepContext, rng: np.random.Generator) -> Floats:
    """The final population from the full samples and the newest of the pool, (N, d)."""
    archive, variables = context.archive, context.problem.variables
    newest = slice(context.settings.newest_pool)  # the pool is sorted by step
    X = np.vstack([archive.X, archive.pool.X[newest]])
    F = np.vstack([archive.F, archive.pool.mean[newest]])
    if len(X) < SMALLEST_START:
        more = latin(variables, SMALLEST_START - len(X), rng)
        X, F = np.vstack([X, more]), np.vstack([F, archive.scaled_means(more)])
    limits = archive.feasibility
    return evolve(
        variables,
        archive.scaled_means,
        X,
        F,
        context.W,
        context.settings,
        rng,
        None if limits is None else limits.violation,
    )


@dataclass(frozen=True, slots=True)
class PromotionStep:
    """The step function of the strategy."""

    settings: CounterpoiseSettings | None = None  # None: by the number of objectives

    def __call__(
        self,
        problem: Problem,
        snapshot: Snapshot,
        strategy: Strategy,
        rng: np.random.Generator,
        resources: Resources,
    ) -> Proposal:
        settings = self.settings_of(problem.m, strategy)
        family = FAMILIES[strategy.models]
        return propose_by_promotion(problem, snapshot, settings, rng, family, resources)

    def settings_of(self, m: int, strategy: Strategy) -> CounterpoiseSettings:
        chosen = self.settings or settings_for(m)
        return replace(
            chosen,
            belief=strategy.belief,
            common_unit=chosen.common_unit and strategy.scaling == "paper",
        )


FAMILIES: dict[ModelFamily, Family] = {"paper": KRIGING, "evidence": EVIDENCE}

COUNTERPOISE = Strategy(step=PromotionStep(), initial=COMMON_POINTS, models="evidence")
