"""What the transfer strategies share: two objectives, the search and selection of
`bo-aaf`, extras around the batch.

| symbol | here                | meaning                                              |
|--------|---------------------|------------------------------------------------------|
| c, e   | `pair_of(problem)`  | the cheap and the expensive objective                |
| r      | `problem.ratios[c]` | evaluations of c that fit into one of e              |
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_models import fit_models
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.model_report import report_on
from app.optimizer.models.step_models import Models
from app.optimizer.models.surrogate import Surrogate
from app.optimizer.models.training_data import Archive, TrainingSet, two_members
from app.optimizer.problem import Problem, Variables
from app.optimizer.proposal.batch import Candidates, take_common
from app.optimizer.proposal.proposal import Proposal, Timings
from app.optimizer.proposal.selection import select
from app.optimizer.search.design import filling, latin
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import snap
from app.optimizer.strategies.fit_search_select import search
from app.optimizer.strategies.strategy import Resources, Strategy

ROUNDS = 5  # hypercubes in the box of the batch before the whole space is used
# Changes the models of a step: problem, snapshot, models, generator -> models
Transfer = Callable[[Problem, Snapshot, Models, Generator], Models]


def pair_of(problem: Problem) -> tuple[int, int]:
    cheap = problem.cheap[0]
    return cheap, 1 - cheap


def needs_a_pair(problem: Problem) -> str | None:
    if problem.m == 2 and len(problem.cheap) == 1:
        return None
    return (
        "this strategy transfers from one cheap to one expensive objective; the problem"
        f" has {problem.m} objectives, {len(problem.cheap)} of them cheap;"
        " declare evaluation times that differ, or choose sbp-bo or hk-rvea"
    )


def one_member(archive: Archive, i: int, rng: Generator) -> TrainingSet:
    """D^t and the newest extras, without the stream."""
    return TrainingSet(two_members(archive, i, rng).model)


def transfer_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    resources: Resources,
    transfer: Transfer,
) -> Proposal:
    clock = resources.clock
    started = clock()
    models = fit_models(problem, snapshot, strategy, rng, fit=resources.fit)
    if len(models.X) > 1:
        models = transfer(problem, snapshot, models, rng)
    fitted = clock()
    population = search(problem, strategy, models, rng)
    searched = clock()
    proposal = select(problem, snapshot, strategy, models, population, rng)
    points = around(problem.variables, proposal.full, rng)
    cheap = take_common(problem, snapshot, proposal.full, points)
    diagnostics = replace(
        proposal.diagnostics, cheap_sources=tuple(drawn.sources for drawn in cheap)
    )
    return replace(
        proposal,
        cheap=tuple(drawn.points for drawn in cheap),
        diagnostics=diagnostics,
        timings=Timings(fitted - started, searched - fitted, clock() - searched),
    )


def around(variables: Variables, batch: Floats, rng: Generator) -> Candidates:
    """Latin hypercubes in the bounding box of the batch, then in the whole space."""
    if len(batch) > 0:
        low, high = batch.min(axis=0), batch.max(axis=0)
        for _ in range(ROUNDS):
            points = low + latin(variables, 50, rng) * (high - low)
            yield "offspring", snap(variables, points)
    for points in filling(variables, 50, rng):
        yield "latin", points


def with_model(models: Models, i: int, model: Kriging) -> Models:
    """The models with another one for objective i."""
    surrogates, reports = list(models.surrogates), list(models.reports)
    surrogates[i] = Surrogate(model)
    reports[i] = report_on(model, None)
    return replace(models, surrogates=tuple(surrogates), reports=tuple(reports))


def is_transfer_step(step: int, ratio: float) -> bool:
    """Not at the first step, nor when the step's number is a multiple of r."""
    return step > 1 and step % int(ratio) != 0


def newest_extras(snapshot: Snapshot, j: int) -> Data:
    """Cheap-only values of objective j that the step before asked for, sorted."""
    data, steps = snapshot.extra[j], snapshot.extra_steps[j]
    rows = np.flatnonzero(steps == snapshot.step - 1)
    rows = rows[np.lexsort(data.X[rows].T)]
    return Data(data.X[rows], data.y[rows])
