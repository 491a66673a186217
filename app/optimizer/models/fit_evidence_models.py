"""The fit of the models by evidence of one step, as an ensemble whose members earn their
weight.

D^t: the full samples that the search starts from. The models learn from all of D.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from app.optimizer.models.belief import DEVIATIONS, Belief
from app.optimizer.models.evidence.frozen_weight import frozen_weight
from app.optimizer.models.evidence.objective_fit import (
    EvidenceTask,
    FittedObjective,
    FrozenTask,
    fit_objective,
    fit_stream,
)
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.models.fit_models import check_dimensions, ranges
from app.optimizer.models.fit_task import FrozenModels, Map
from app.optimizer.models.model_report import ModelReport
from app.optimizer.models.step_models import Models
from app.optimizer.models.surrogate import Surrogate, Truth
from app.optimizer.models.told_values import evidence_told
from app.optimizer.models.training_data import TrainingSet, choose_full
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.strategy import Strategy


def fit_evidence_models(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    *,
    fit: Map = map,
    truth: Mapping[int, Truth] | None = None,  # noqa: ARG001
    frozen: FrozenModels = (),
) -> Models:
    """As `fit_models`; every objective is learnt from data chosen by evidence, so
    `truth` and `strategy.train` have no effect.
    """
    check_dimensions(problem, snapshot)
    order = np.lexsort((*snapshot.F.T, *snapshot.X.T))
    X, F = snapshot.X[order], snapshot.F[order]
    rows = choose_full(F, strategy.training_size(problem.d), rng)
    tasks = evidence_tasks(problem, snapshot, rng, strategy.belief)
    fitted = dict(zip(tasks, fit(fit_objective, tasks.values()), strict=True))
    members = _frozen_members(problem, snapshot, fit, frozen)
    surrogates, reports = [], []
    for i in range(problem.m):
        surrogate, report = _ensemble(fitted.get(i), members.get(i))
        surrogates.append(surrogate)
        reports.append(report)
    low, spread = ranges(F[rows], _training_sets(snapshot, problem.m))
    return Models(X[rows], F[rows], low, spread, tuple(surrogates), tuple(reports))


def evidence_tasks(
    problem: Problem,
    snapshot: Snapshot,
    rng: Generator,
    belief: Belief,
    values: Callable[[Snapshot, int], Told] = evidence_told,
) -> dict[int, EvidenceTask]:
    """One per objective that has a value."""
    seeds = rng.integers(2**63, size=problem.m)
    tasks = {}
    for i in range(problem.m):
        told = values(snapshot, i)
        warm_start = snapshot.warm_starts[i]
        if len(told.full) + len(told.extra) + len(told.stream) > 0:
            tasks[i] = EvidenceTask(
                told=told,
                awaited=snapshot.awaited(i),
                deviations=DEVIATIONS[belief],
                warm_start=None if warm_start is None else warm_start["model"],
                turn=snapshot.step + i,
                seed=int(seeds[i]),
                groups=problem.groups,
                noise=problem.noise[i],
            )
    return tasks


def _frozen_members(
    problem: Problem, snapshot: Snapshot, fit: Map, given: FrozenModels
) -> dict[int, Posterior]:
    """Of the streams of cheap objectives; those given are kept."""
    members = {
        i: model for i, model in enumerate(given) if isinstance(model, Posterior)
    }
    tasks = {}
    for i, data in enumerate(snapshot.frozen):
        if data is not None and len(data) > 0 and i not in members:
            warm_start = snapshot.warm_starts[i]
            found = None if warm_start is None else warm_start.get("frozen")
            tasks[i] = FrozenTask(data, found, problem.groups)
    return members | dict(zip(tasks, fit(fit_stream, tasks.values()), strict=True))


def _ensemble(
    fitted: FittedObjective | None, frozen: Posterior | None
) -> tuple[Surrogate, ModelReport | None]:
    if fitted is None:
        return Surrogate(), None
    warm_start = {"model": fitted.report.warm_start}
    weight = None
    if frozen is not None:
        weight = frozen_weight(fitted.fitted, fitted.full, frozen)
        warm_start["frozen"] = frozen.hyperparameters.as_json()
    report = replace(fitted.report, frozen_weight=weight, warm_start=warm_start)
    return Surrogate(fitted.model, frozen, weight=weight), report


def _training_sets(snapshot: Snapshot, m: int) -> list[TrainingSet]:
    """What the ranges of objectives are taken from where D^t is too small."""
    sets = []
    for i in range(m):
        told = evidence_told(snapshot, i)
        X = np.vstack([told.full.X, told.extra.X])
        y = np.append(told.full.y, told.extra.y)
        sets.append(TrainingSet(Data(X, y), snapshot.frozen[i]))
    return sets
