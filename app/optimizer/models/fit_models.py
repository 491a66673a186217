"""Fit what stands in for each objective.

| symbol | here             | meaning                                                               |
|--------|------------------|-----------------------------------------------------------------------|
| D^t    | `X`, `F`         | the full samples chosen for training; the search starts from them     |
| –      | `low`, `spread`  | minimum and range of each objective over D^t                          |
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_task import FitTask
from app.optimizer.models.kriging import Kriging, is_constant
from app.optimizer.models.model_report import ModelReport, report_on
from app.optimizer.models.surrogate import Surrogate, Truth
from app.optimizer.models.training_data import Archive, TrainingSet, choose_full
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Strategy

FrozenModels = Sequence[Kriging | None]  # one per objective, or empty
# Like the builtin map; an executor's map fits objectives in parallel, with the same result.
Map = Callable[[Callable[[FitTask], Kriging], Iterable[FitTask]], Iterable[Kriging]]


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    X: Floats  # (n, d)
    F: Floats  # (n, m)
    low: Floats  # (m,)
    spread: Floats  # (m,)
    surrogates: tuple[Surrogate, ...]
    reports: tuple[ModelReport | None, ...]

    @property
    def frozen(self) -> tuple[Kriging | None, ...]:
        """The frozen models, which never change: the next step can reuse them."""
        return tuple(surrogate.frozen for surrogate in self.surrogates)

    def means(self, X: Floats) -> Floats:
        return np.stack([surrogate.mean(X) for surrogate in self.surrogates], axis=1)  # (N, m)

    def means_and_variances(self, X: Floats) -> tuple[Floats, Floats]:
        pairs = [surrogate.mean_and_variance(X) for surrogate in self.surrogates]
        return np.stack([mean for mean, _ in pairs], axis=1), np.stack([v for _, v in pairs], axis=1)  # (N, m) each


def fit_models(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: np.random.Generator,
    *,
    fit: Map = map,
    truth: Mapping[int, Truth] | None = None,
    frozen: FrozenModels = (),
) -> Models:
    """`truth`: the cheap objectives themselves, by number, where the strategy calls them. `frozen`: the frozen models
    of an earlier step, if they are still at hand; they are the same as if fitted again."""
    _check(problem, snapshot)
    order = np.lexsort((*snapshot.F.T, *snapshot.X.T))  # so that the order in which samples were told plays no part
    X, F = snapshot.X[order], snapshot.F[order]
    size = strategy.training_size(problem.d)
    rows = choose_full(F, size, rng)
    archive = Archive(snapshot, order[rows], size, strategy.keep_extra, problem.cheap)
    sets = tuple(strategy.train(archive, i, rng) for i in range(problem.m))
    surrogates, reports = _surrogates(snapshot, sets, strategy, fit, truth or {}, frozen or (None,) * problem.m)
    low, spread = _ranges(F[rows], sets)
    return Models(X[rows], F[rows], low, spread, surrogates, reports)


def _check(problem: Problem, snapshot: Snapshot) -> None:
    d, m = snapshot.X.shape[1], snapshot.F.shape[1]
    if (problem.d, problem.m) != (d, m):
        mine = f"the problem has {problem.d} variables and {problem.m} objectives"
        raise ValueError(f"{mine}, the snapshot {d} and {m}: it is one of another problem")


def _surrogates(
    snapshot: Snapshot,
    sets: tuple[TrainingSet, ...],
    strategy: Strategy,
    fit: Map,
    truth: Mapping[int, Truth],
    known: FrozenModels,
) -> tuple[tuple[Surrogate, ...], tuple[ModelReport | None, ...]]:
    tasks: dict[tuple[int, bool], FitTask] = {}  # by objective, and whether for the frozen member
    for i, chosen in enumerate(sets):
        if chosen.truth and i not in truth:
            raise ValueError(f"this strategy calls objective {i} itself: hand its function to propose as truth[{i}]")
        if not chosen.truth and len(chosen.model) > 0:
            tasks[i, False] = FitTask(chosen.model, snapshot.theta[i])
        if chosen.frozen is not None and len(chosen.frozen) > 0 and known[i] is None:
            tasks[i, True] = FitTask(chosen.frozen, snapshot.frozen_theta[i], frozen=True)
    fitted = dict(zip(tasks, fit(strategy.fit, tasks.values()), strict=True))
    surrogates, reports = [], []
    for i, chosen in enumerate(sets):
        model = fitted.get((i, False))
        frozen = None if chosen.frozen is None else known[i] or fitted.get((i, True))
        reports.append(report_on(model, frozen))
        model, frozen = _without_constant(model, frozen)
        function = truth[i] if chosen.truth else None
        surrogates.append(Surrogate(_believing(model, snapshot.pending[i]), frozen, function))
    return tuple(surrogates), tuple(reports)


def _without_constant(model: Kriging | None, frozen: Kriging | None) -> tuple[Kriging | None, Kriging | None]:
    """The members of an ensemble, without one that saw a single value beside one that knows more."""
    # Differs from [SBP-BO]: such a member is sure of that value everywhere, by a variance that has no unit. The product
    # of experts would follow it, and of two of them return their values with rounding, which is no constant any more.
    if model is None or frozen is None:
        return model, frozen
    if frozen.constant_:
        return model, None
    return None if model.constant_ else model, frozen


def _believing(model: Kriging | None, pending: Floats) -> Kriging | None:
    """The model as if the pending points had been told their posterior means: less variance there, nothing else."""
    return model.believe(pending) if model is not None and len(pending) > 0 else model


def _ranges(F: Floats, sets: tuple[TrainingSet, ...]) -> tuple[Floats, Floats]:
    """Minimum and range of D^t; of an objective's other values where D^t is too small, or constant; else 0.

    What is constant is what a model takes for constant: a range of rounding errors would stretch predictions a
    millionfold. A range of 1 would be one of the user's units.
    """
    bounds = [_bounds(F[:, i], chosen) for i, chosen in enumerate(sets)]
    low, high = np.array(bounds, dtype=np.float64).reshape(len(sets), 2).T
    return low, high - low


def _bounds(column: Floats, chosen: TrainingSet) -> tuple[float, float]:
    others = [chosen.model.y] if chosen.frozen is None else [chosen.model.y, chosen.frozen.y]
    known = [values for values in ([column] if len(column) > 1 else []) + others if len(values) > 0]
    for values in known:
        if not is_constant(values):
            return float(values.min()), float(values.max())
    lowest = float(known[0].min()) if known else 0.0
    return lowest, lowest
