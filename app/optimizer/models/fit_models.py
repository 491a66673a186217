"""The fit of the models of one step.

D^t: the full samples chosen for training.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.models.belief import DEVIATIONS
from app.optimizer.models.fit_task import FitTask, FrozenModels, Map
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.kriging.standardise import is_constant
from app.optimizer.models.model_report import ModelReport, report_on
from app.optimizer.models.step_models import Models
from app.optimizer.models.surrogate import Surrogate, Truth
from app.optimizer.models.training_data import Archive, TrainingSet, choose_full
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Strategy

# An objective's number, and whether it is the frozen member of its ensemble
Member = tuple[int, bool]


def fit_models(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    *,
    fit: Map = map,
    truth: Mapping[int, Truth] | None = None,
    frozen: FrozenModels = (),
) -> Models:
    """`truth`: the cheap objectives themselves, by number, for strategies that call
    them. `frozen`: the frozen models of an earlier step, which are the same as if they
    were fitted again.
    """
    check_dimensions(problem, snapshot)
    # Sorted, so that the order in which values were told has no effect.
    order = np.lexsort((*snapshot.F.T, *snapshot.X.T))
    X, F = snapshot.X[order], snapshot.F[order]
    size = strategy.training_size(problem.d)
    rows = choose_full(F, size, rng)
    archive = Archive(
        snapshot,
        order[rows],
        size,
        strategy.keep_extra,
        problem.cheap,
        strategy.infeasible,
    )
    training_sets = tuple(strategy.train(archive, i, rng) for i in range(problem.m))
    truths = _truths(training_sets, truth or {})
    reused = _reused(training_sets, frozen)
    tasks = _fit_tasks(problem, snapshot, training_sets, reused)
    fitted = dict(zip(tasks, fit(strategy.fit, tasks.values()), strict=True))
    surrogates, reports = _ensembles(
        snapshot, truths, reused | fitted, DEVIATIONS[strategy.belief]
    )
    low, spread = ranges(F[rows], training_sets)
    return Models(X[rows], F[rows], low, spread, surrogates, reports)


def _groups(problem: Problem) -> tuple[int, ...] | None:
    return problem.groups if problem.width > problem.d else None


def check_dimensions(problem: Problem, snapshot: Snapshot) -> None:
    d, m = snapshot.X.shape[1], snapshot.F.shape[1]
    if (problem.width, problem.m) != (d, m):
        raise ValueError(
            f"the problem has {problem.width} variables and {problem.m} objectives,"
            f" the snapshot {d} and {m}:"
            " it is one of another problem"
        )


def _truths(
    training_sets: Sequence[TrainingSet], truth: Mapping[int, Truth]
) -> list[Truth | None]:
    """One per objective; None where it is learnt."""
    truths: list[Truth | None] = []
    for i, training in enumerate(training_sets):
        if training.truth and i not in truth:
            raise ValueError(
                f"this strategy calls objective {i} itself: hand its function to propose as truth[{i}]"
            )
        truths.append(truth[i] if training.truth else None)
    return truths


def _reused(
    training_sets: Sequence[TrainingSet], frozen: FrozenModels
) -> dict[Member, Kriging]:
    """The given frozen models, as far as the strategy uses them."""
    reused: dict[Member, Kriging] = {}
    for i, model in enumerate(frozen):
        if isinstance(model, Kriging) and training_sets[i].frozen is not None:
            reused[i, True] = model
    return reused


def _fit_tasks(
    problem: Problem,
    snapshot: Snapshot,
    training_sets: Sequence[TrainingSet],
    reused: Mapping[Member, Kriging],
) -> dict[Member, FitTask]:
    tasks: dict[Member, FitTask] = {}
    groups = _groups(problem)
    for i, training in enumerate(training_sets):
        if not training.truth and len(training.model) > 0:
            tasks[i, False] = FitTask(
                training.model,
                snapshot.theta[i],
                groups=groups,
                noise=problem.noise[i],
            )
        if (
            training.frozen is not None
            and len(training.frozen) > 0
            and (i, True) not in reused
        ):
            tasks[i, True] = FitTask(
                training.frozen,
                snapshot.frozen_theta[i],
                frozen=True,
                groups=groups,
                noise=problem.noise[i],
            )
    return tasks


def _ensembles(
    snapshot: Snapshot,
    truths: Sequence[Truth | None],
    members: Mapping[Member, Kriging],
    deviations: float,
) -> tuple[tuple[Surrogate, ...], tuple[ModelReport | None, ...]]:
    surrogates, reports = [], []
    for i, truth in enumerate(truths):
        model, frozen = members.get((i, False)), members.get((i, True))
        reports.append(None if model is None else report_on(model, frozen))
        model, frozen = _without_constant(model, frozen)
        if model is not None:
            model = model.believe(snapshot.awaited(i), deviations)
        surrogates.append(Surrogate(model, frozen, truth))
    return tuple(surrogates), tuple(reports)


def _without_constant(
    model: Kriging | None, frozen: Kriging | None
) -> tuple[Kriging | None, Kriging | None]:
    """The members of an ensemble, except one that saw a single value if the other saw
    more.
    """
    # Differs from [SBP-BO]: such a member predicts that value everywhere, with a
    # variance that has no unit. The product of experts would follow it, and of two of
    # them return their values with rounding, which is no longer constant.
    if model is None or frozen is None:
        return model, frozen
    if frozen.constant_:
        return model, None
    return None if model.constant_ else model, frozen


def ranges(F: Floats, training_sets: Sequence[TrainingSet]) -> tuple[Floats, Floats]:
    """Minimum and range of D^t; of an objective's other values where D^t is too small,
    or constant; else 0.

    Constant is what a model treats as constant: a range of rounding errors would
    stretch predictions a millionfold, and a range of 1 would depend on the user's unit.
    """
    m = len(training_sets)
    low, high = np.empty(m), np.empty(m)
    for i, training in enumerate(training_sets):
        low[i], high[i] = _bounds(F[:, i], training)
    return low, high - low


def _bounds(column: Floats, training: TrainingSet) -> tuple[float, float]:
    candidates = [column] if len(column) > 1 else []
    candidates.append(training.model.y)
    if training.frozen is not None:
        candidates.append(training.frozen.y)
    known = [values for values in candidates if len(values) > 0]
    for values in known:
        if not is_constant(values):
            return float(values.min()), float(values.max())
    lowest = float(known[0].min()) if known else 0.0
    return lowest, lowest
