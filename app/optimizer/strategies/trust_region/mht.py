"""`mht`: trust regions with quadratic models of the expensive objectives ([MHT],
Thomann and Eichfelder 2019), one for each point of the batch.

| symbol | here             | meaning                                                  |
|--------|------------------|----------------------------------------------------------|
| u      | `snapshot.batch` | trust regions that move at a step                        |
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.models.model_report import ModelReport
from app.optimizer.models.surrogate import Truth
from app.optimizer.models.training_data import values_of
from app.optimizer.problem import Problem
from app.optimizer.proposal.batch import (
    Candidates,
    make_proposal,
    no_extras,
    no_models,
    offspring_of,
    take_common,
    take_full,
)
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.search.design import latin
from app.optimizer.search.requirements import pull_back
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.k_rvea import in_canonical_order
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.trust_region.descent import Models, steepest_descent
from app.optimizer.strategies.trust_region.quadratic_model import fit_quadratic
from app.optimizer.strategies.trust_region.region import CRITICAL, Point, Region
from app.optimizer.strategies.trust_region.start_points import start_points
from app.optimizer.strategies.waiting import NO_STREAMS

STARTS = 50  # points of a box from which its best point is searched
ROUNDS = 5  # hypercubes in each box that extras are taken from


def mht_step(
    problem: Problem,
    snapshot: Snapshot,
    _strategy: Strategy,
    rng: Generator,
    resources: Resources,
) -> Proposal:
    snapshot = in_canonical_order(snapshot)
    waiting, ready, ended = settled_regions(snapshot)
    used = [*(region.values for region in (*waiting, *ready)), *ended]
    # Differs from [MHT]: it follows one trust region; here a new one begins wherever
    # the front is known least as soon as another has ended.
    queue = [*ready, *start_points(snapshot.X, snapshot.F, used)]
    moved: list[Region] = []
    while queue and len(moved) < snapshot.batch:
        region = queue.pop(0)
        tried = with_trial(problem, snapshot, region, resources.truth, rng)
        if tried is None:
            ended.append(region.values)
        else:
            moved.append(tried)
    kept = [*waiting, *moved, *(region for region in queue if region in ready)]
    trials = np.array([region.trial for region in moved]).reshape(-1, problem.width)
    full = take_full(problem, snapshot, _candidates(problem, snapshot, trials, rng))
    cheap = no_extras(problem)
    if not set(problem.cheap) <= resources.truth.keys():
        points = in_boxes(problem, moved, rng)
        cheap = take_common(problem, snapshot, full.points, points)
    models = no_models(problem, snapshot)
    record = _report(len(snapshot.X), kept, ended)
    models = replace(models, reports=(record, *models.reports[1:]))
    return make_proposal(problem, snapshot, models, trials, full, cheap)


def settled_regions(
    snapshot: Snapshot,
) -> tuple[list[Region], list[Region], list[Point]]:
    """Of the regions that the step before recorded: those whose trial is still to be
    told, those that can move, and the values of those that have ended.
    """
    recorded = snapshot.warm_starts[0] or {"regions": [], "ended": []}
    ended = [tuple(values) for values in recorded["ended"]]
    outputs = range(snapshot.F.shape[1])
    awaited = np.vstack([snapshot.awaited(i) for i in outputs])
    waiting, ready = [], []
    for record in recorded["regions"]:
        region = Region.from_json(record)
        if region.waits(awaited):
            waiting.append(region)
            continue
        region = region.after_trial(snapshot.X, snapshot.F)
        if region.has_ended:
            ended.append(region.values)
        else:
            ready.append(region)
    return waiting, ready, ended


def with_trial(
    problem: Problem,
    snapshot: Snapshot,
    region: Region,
    truth: Mapping[int, Truth],
    rng: Generator,
) -> Region | None:
    """The region with its best point; None if its centre is critical."""
    models = local_models(problem, snapshot, region, truth)
    box = region.box
    starts = box.lb + latin(problem.variables, STARTS, rng) * (box.ub - box.lb)
    centre, values = np.array(region.centre), np.array(region.values)
    descent = steepest_descent(models, centre, values, box, starts)
    if descent.change > -CRITICAL:
        return None
    x = pull_back(problem.variables, descent.x[None], centre[None])[0]
    return region.with_trial(replace(descent, x=x))


def local_models(
    problem: Problem,
    snapshot: Snapshot,
    region: Region,
    truth: Mapping[int, Truth],
) -> Models:
    """Cheap objectives that can be called are called; the others are quadratic."""
    centre = np.array(region.centre)
    functions = [
        truth[i]
        if i in truth and i in problem.cheap
        else fit_quadratic(values_of(snapshot, i), centre, region.values[i])
        for i in range(problem.m)
    ]
    return lambda X: np.stack([function(X) for function in functions], axis=1)


def in_boxes(problem: Problem, regions: Sequence[Region], rng: Generator) -> Candidates:
    """Latin hypercubes in the boxes of the regions in turn, then the whole space."""
    for _ in range(ROUNDS):
        for box in (region.box for region in regions):
            points = box.lb + latin(problem.variables, STARTS, rng) * (box.ub - box.lb)
            centre = np.broadcast_to((box.lb + box.ub) / 2.0, points.shape)
            yield "offspring", pull_back(problem.variables, points, centre)
    yield from offspring_of(problem.variables, np.empty((0, problem.width)), 0, rng)


def _candidates(
    problem: Problem, snapshot: Snapshot, trials: Floats, rng: Generator
) -> Candidates:
    yield "selected", trials
    yield from offspring_of(problem.variables, snapshot.X, snapshot.batch, rng)


def _report(
    size: int, regions: Sequence[Region], ended: Sequence[Point]
) -> ModelReport:
    """What the next step begins with, as hyperparameters of other strategies are."""
    record = {
        "regions": [asdict(region) for region in regions],
        "ended": [list(values) for values in ended],
    }
    return ModelReport(
        size, None, 0.0, None, None, None, structure="quadratic", warm_start=record
    )


def needs_floats(problem: Problem) -> str | None:
    others = [variable for variable in problem.variables if variable.kind != "float"]
    if not others:
        return None
    return (
        "strategy mht moves in small steps and needs float variables;"
        f" {others[0].name!r} is {others[0].kind}; choose sbp-bo or hk-rvea"
    )


MHT = Strategy(step=mht_step, refusal=needs_floats, initial=NO_STREAMS)
