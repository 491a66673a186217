"""The fit of what a step knows of feasibility: a model by evidence of each constraint,
and one of the hidden constraint.

A constraint's model learns compressed margins: only the limit's neighbourhood matters,
and values far from it would spoil a stationary model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.feasible_view import FeasibleView, is_limited
from app.optimizer.limits import KEPT, Limit, compress, margin_scale
from app.optimizer.models.evidence.objective_fit import EvidenceTask, fit_objective
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.models.feasibility import Feasibility, LimitedOutput, fit_hidden
from app.optimizer.models.fit_task import Map
from app.optimizer.models.model_report import ModelReport
from app.optimizer.models.predictor import Predictor
from app.optimizer.models.told_values import evidence_told
from app.optimizer.models.training_data import values_of
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Data, Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class FittedLimits:
    feasibility: Feasibility | None  # None: nothing is limited
    reports: tuple[ModelReport | None, ...]  # one per constraint


def fit_feasibility(
    problem: Problem,
    snapshot: Snapshot,
    view: FeasibleView,
    objectives: Sequence[Predictor],
    rng: Generator,
    fit: Map = map,
) -> FittedLimits:
    """`objectives` predict the view's values."""
    if not is_limited(problem, snapshot):
        return FittedLimits(None, ())
    parts = [
        LimitedOutput(limit, predictor, spread_of(view.snapshot, i))
        for i, (limit, predictor) in enumerate(
            zip(view.limits, objectives, strict=True)
        )
    ]
    tasks = constraint_tasks(problem, snapshot, rng)
    models = fit(fit_objective, [task for task, _ in tasks.values()])
    fitted = dict(zip(tasks, models, strict=True))
    reports = []
    for i in range(problem.m, len(problem.outputs)):
        own = fitted.get(i)
        if own is not None:
            _, limit = tasks[i]
            parts.append(LimitedOutput(limit, own.model, float(np.ptp(own.fitted.y))))
        reports.append(None if own is None else own.report)
    groups = problem.groups if problem.width > problem.d else None
    hidden = fit_hidden(snapshot, groups, rng)
    limited = tuple(part for part in parts if part.limit.is_limited)
    return FittedLimits(Feasibility(limited, hidden), tuple(reports))


def spread_of(snapshot: Snapshot, i: int) -> float:
    """The range of all values of an objective."""
    values = values_of(snapshot, i).y
    return float(np.ptp(values)) if len(values) > 0 else 0.0


def constraint_tasks(
    problem: Problem, snapshot: Snapshot, rng: Generator
) -> dict[int, tuple[EvidenceTask, Limit]]:
    """One per constraint that has a value, with the limit of what its model learns."""
    tasks = {}
    for i in range(problem.m, len(problem.outputs)):
        seed = int(rng.integers(2**63))
        told, limit = as_margins(evidence_told(snapshot, i), problem.limits[i])
        if len(told.full) + len(told.extra) + len(told.stream) > 0:
            task = EvidenceTask(
                told=told,
                awaited=snapshot.awaited(i),
                deviations=0.0,
                warm_start=snapshot.warm_starts[i],
                turn=snapshot.step + i,
                seed=seed,
                groups=problem.groups,
            )
            tasks[i] = task, limit
    return tasks


def as_margins(told: Told, limit: Limit) -> tuple[Told, Limit]:
    """The same with compressed margins instead of values, and their limit.

    With limits on both sides, distances from the middle: the margin has a kink there,
    which hides a narrow band from a smooth model.
    """
    distance: Callable[[Floats], Floats] = limit.margin
    kept = KEPT
    if limit.is_two_sided:
        middle = (limit.lower + limit.upper) / 2.0
        distance = partial(np.add, -middle)
        kept = Limit(limit.lower - middle, limit.upper - middle)
    parts = (told.full, told.extra, told.stream)
    scale = margin_scale(distance(np.concatenate([data.y for data in parts])))

    def of(data: Data) -> Data:
        return Data(data.X, compress(distance(data.y), scale))

    margins = Told(of(told.full), of(told.extra), told.extra_steps, of(told.stream))
    lower, upper = compress(np.array([kept.lower, kept.upper]), scale)
    return margins, Limit(float(lower), float(upper))
