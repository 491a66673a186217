"""Limits for strategies without a rule of their own: they propose more points than are
asked for, and those that probably keep the limits are taken.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.feasible_view import FeasibleView, feasible_view, objectives_of
from app.optimizer.models.fit_feasibility import FittedLimits, fit_feasibility
from app.optimizer.models.fit_models import fit_models
from app.optimizer.models.model_report import ModelReport
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal, Source
from app.optimizer.proposal.selection import extra_count, known_points
from app.optimizer.proposal.sources import Preference
from app.optimizer.search.novelty import is_new
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Resources, Step, Strategy

SELECTED: Source = "selected"
BROADER = 4  # times as many points as are asked for


def limited(strategy: Strategy) -> Strategy:
    """The strategy with a rule for limits; whether it applies depends on the objectives
    alone.
    """

    def refusal(problem: Problem) -> str | None:
        return strategy.refusal(objectives_of(problem))

    return replace(strategy, step=within_limits(strategy.step), refusal=refusal)


def within_limits(step: Step) -> Step:
    """The same step where nothing is limited."""

    def step_within_limits(
        problem: Problem,
        snapshot: Snapshot,
        strategy: Strategy,
        rng: Generator,
        resources: Resources,
    ) -> Proposal:
        view = feasible_view(problem, snapshot)
        if view.snapshot is snapshot:
            return step(problem, snapshot, strategy, rng, resources)
        broader = replace(view.snapshot, batch=BROADER * snapshot.batch)
        own = replace(resources, frozen=())
        proposal = step(view.problem, broader, strategy, rng, own)
        limits = _fit_limits(problem, snapshot, view, strategy, proposal, rng, own)
        preference = Preference(limits.feasibility)
        full = proposal.full
        pool = snapshot.pool.X[proposal.promoted]
        order = likely_first(np.vstack([pool, full]), preference)[: snapshot.batch]
        promoted = proposal.promoted[order[order < len(pool)]]
        full = full[order[order >= len(pool)] - len(pool)]
        proposal = replace(proposal, promoted=promoted)
        cheap = []
        for j, points in enumerate(proposal.cheap):
            count = extra_count(problem, snapshot.batch, j)
            new = points[is_new(points, full)]
            cheap.append(new[likely_first(new, preference)[:count]])
        return for_outputs(problem, snapshot, proposal, full, cheap, limits.reports)

    return step_within_limits


def on_objectives(step: Step) -> Step:
    """The step of a strategy that learns nothing: constraints do not matter to it."""

    def unlimited(
        problem: Problem,
        snapshot: Snapshot,
        strategy: Strategy,
        rng: Generator,
        resources: Resources,
    ) -> Proposal:
        view = feasible_view(problem, snapshot)
        if view.snapshot is snapshot:
            return step(problem, snapshot, strategy, rng, resources)
        proposal = step(view.problem, view.snapshot, strategy, rng, resources)
        reports = (None,) * len(problem.constraints)
        return for_outputs(
            problem, snapshot, proposal, proposal.full, proposal.cheap, reports
        )

    return unlimited


def likely_first(X: Floats, preference: Preference) -> Ints:
    """Rows that probably keep the limits in their order, then the most probable ones."""
    is_likely = preference.is_likely(X)
    others = np.flatnonzero(~is_likely)
    others = others[preference.most_probable_first(X[others])]
    return np.append(np.flatnonzero(is_likely), others)


def _fit_limits(
    problem: Problem,
    snapshot: Snapshot,
    view: FeasibleView,
    strategy: Strategy,
    proposal: Proposal,
    rng: Generator,
    resources: Resources,
) -> FittedLimits:
    surrogates = proposal.models.surrogates
    if not surrogates:
        # A strategy without models of the objectives, which may have limits
        fitted = fit_models(
            view.problem, view.snapshot, strategy, rng, fit=resources.fit
        )
        surrogates = fitted.surrogates
    return fit_feasibility(problem, snapshot, view, surrogates, rng, resources.fit)


def for_outputs(
    problem: Problem,
    snapshot: Snapshot,
    proposal: Proposal,
    full: Floats,
    cheap: Sequence[Floats],
    reports: Sequence[ModelReport | None],
) -> Proposal:
    """The proposal with these points; cheap constraints are evaluated where cheap
    objectives are. `reports`: one per constraint.
    """
    everywhere = np.unique(np.vstack(cheap), axis=0)
    points = list(cheap)
    for j in range(problem.m, len(problem.outputs)):
        count = extra_count(problem, snapshot.batch, j)
        new = is_new(everywhere, np.vstack([known_points(snapshot, j), full]))
        points.append(everywhere[new][:count])
    sources = tuple(tuple(SELECTED for _ in X) for X in points)
    diagnostics = replace(
        proposal.diagnostics,
        full_samples=(),  # they were of more points, in another order
        models=(*proposal.diagnostics.models, *reports),
        full_sources=proposal.diagnostics.full_sources[: len(full)],
        cheap_sources=sources,
    )
    return replace(proposal, full=full, cheap=tuple(points), diagnostics=diagnostics)
