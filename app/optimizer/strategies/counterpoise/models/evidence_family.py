"""Models by evidence for the strategy."""

from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.fit import fit
from app.optimizer.models.evidence.hyperparameters import Hyperparameters, Structure
from app.optimizer.models.evidence.objective_fit import fit_objective
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.fit_evidence_models import evidence_tasks
from app.optimizer.models.fit_task import Map
from app.optimizer.models.told_values import pooled_told
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.counterpoise.models.family import (
    CoData,
    Family,
    Fitted,
    FittedCoModel,
)
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings

# Cheap values, scaled to [0, 1] over the full samples, are clipped to this range
CLIPPED = (-0.5, 1.5)


def evidence_models(
    problem: Problem,
    snapshot: Snapshot,
    settings: CounterpoiseSettings,
    rng: np.random.Generator,
    fit_all: Map,
) -> list[Fitted | None]:
    tasks = evidence_tasks(problem, snapshot, rng, settings.belief, pooled_told)
    found = dict(zip(tasks, fit_all(fit_objective, tasks.values()), strict=True))
    fitted: list[Fitted | None] = []
    for i in range(problem.m):
        own = found.get(i)
        if own is None or own.report.warm_start is None:
            fitted.append(None)
        else:
            fitted.append(Fitted(own.model, own.report, own.report.warm_start))
    return fitted


@dataclass(frozen=True, slots=True, eq=False)
class ScaledCheap:
    """A model of (x, C) whose cheap values C are scaled to the unit cube."""

    posterior: Posterior
    low: Floats  # (d + p,): 0 for the coordinates of x
    size: Floats  # (d + p,): 1 for the coordinates of x

    def mean(self, X: Floats) -> Floats:
        return self.posterior.mean(self._scale(X))

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        return self.posterior.mean_and_std(self._scale(X))

    def _scale(self, X: Floats) -> Floats:
        return np.asarray(np.clip((X - self.low) / self.size, *CLIPPED))


def evidence_co_model(co: CoData, _settings: CounterpoiseSettings) -> FittedCoModel:
    d = len(co.groups)
    C = co.data.X[:, d:]  # (n, p)
    size = np.ptp(C, axis=0)
    low = np.append(np.zeros(d), C.min(axis=0))
    size = np.append(np.ones(d), np.where(size > 0.0, size, 1.0))
    inputs = (co.data.X - low) / size
    cheap_groups = max(co.groups) + 1 + np.arange(C.shape[1])
    start = None
    if co.warm_start is not None:
        start = Hyperparameters.from_json(co.warm_start)
    posterior = fit(
        Structure.MATERN,
        inputs,
        co.data.y,
        np.random.default_rng(co.seed),
        start=start,
        groups=np.append(co.groups, cheap_groups),
    )
    model = ScaledCheap(posterior, low, size)
    return FittedCoModel(model, posterior.hyperparameters.as_json())


EVIDENCE = Family(evidence_models, evidence_co_model)
