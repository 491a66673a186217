"""The models of all objectives: predictions that respect what is already known of a
sample.

| symbol   | here            | meaning                                      |
|----------|-----------------|----------------------------------------------|
| p        | `len(cheap)`    | cheap objectives                             |
| mean     | (N, m)          | predicted, or known                          |
| deviation| (N, m)          | of the prediction; 0 where the value is known|
"""

from dataclasses import dataclass, replace

import numpy as np

from app.optimizer.arrays import Bools, Floats, Ints
from app.optimizer.models.fit_task import Map
from app.optimizer.models.model_report import ModelReport
from app.optimizer.models.predictor import Predictor
from app.optimizer.problem import Problem
from app.optimizer.proposal.full_sample_report import CoModelReport
from app.optimizer.samples import Samples
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.counterpoise.models.co_model import (
    CoModel,
    earned,
    errors,
)
from app.optimizer.strategies.counterpoise.models.evidence_family import EVIDENCE
from app.optimizer.strategies.counterpoise.models.family import (
    CoData,
    Constant,
    Family,
    Fitted,
    FittedCoModel,
)
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings


@dataclass(frozen=True, slots=True, eq=False)
class ObjectiveModels:
    plain: tuple[Predictor, ...]  # one per objective
    co: tuple[CoModel | None, ...]
    co_used: tuple[bool, ...]  # where the co-model predicts instead of the plain one
    cheap: Ints  # (p,)
    reports: tuple[ModelReport | None, ...]
    co_reports: tuple[CoModelReport | None, ...]

    def means(self, X: Floats) -> Floats:
        """Of new points, (N, m)."""
        mean = np.empty((len(X), len(self.plain)))
        for i, model in enumerate(self.plain):
            if not self.co_used[i]:
                mean[:, i] = model.mean(X)
        for i, co in enumerate(self.co):
            if co is not None and self.co_used[i]:
                mean[:, i] = co.mean(X, mean[:, self.cheap])
        return mean

    def predict(self, X: Floats) -> tuple[Floats, Floats]:
        """Means and deviations of new points, (N, m) each."""
        nothing = np.zeros((len(X), len(self.plain)))
        return self.complete(X, nothing, nothing.astype(np.bool_))

    def complete(self, X: Floats, F: Floats, known: Bools) -> tuple[Floats, Floats]:
        """Means and deviations where F (N, m) is not known; F itself, with deviation 0,
        where it is.
        """
        mean, deviation = self._plain(X, F, known | np.array(self.co_used))
        for i, co in enumerate(self.co):
            missing = ~known[:, i]
            if co is None or not self.co_used[i] or not missing.any():
                continue
            C, S = mean[missing][:, self.cheap], deviation[missing][:, self.cheap]
            mean[missing, i], deviation[missing, i] = co.mean_and_std(X[missing], C, S)
        return mean, deviation

    def forecasts(self, X: Floats, F: Floats, known: Bools) -> tuple[Floats, Floats]:
        """What the plain and the co-models say of these points, (N, m) each; NaN where
        there is no co-model.
        """
        mean, _ = self._plain(X, F, known)
        co_mean = np.full(mean.shape, np.nan)
        for i, co in enumerate(self.co):
            if co is not None:
                co_mean[:, i] = co.mean(X, mean[:, self.cheap])
        return mean, co_mean

    def _plain(self, X: Floats, F: Floats, known: Bools) -> tuple[Floats, Floats]:
        mean, deviation = np.where(known, F, 0.0), np.zeros(F.shape)
        for i, model in enumerate(self.plain):
            missing = ~known[:, i]
            if missing.any():
                mean[missing, i], deviation[missing, i] = model.mean_and_std(X[missing])
        return mean, deviation


def complete_samples(
    models: ObjectiveModels, samples: Samples
) -> tuple[Floats, Floats]:
    return models.complete(samples.X, samples.F, samples.known)


def fit_objectives(
    problem: Problem,
    snapshot: Snapshot,
    settings: CounterpoiseSettings,
    rng: np.random.Generator,
    family: Family = EVIDENCE,
    fit: Map = map,
) -> ObjectiveModels:
    """One model per objective, and a co-model of each expensive one."""
    fitted = family.plain(problem, snapshot, settings, rng, fit)
    seeds = rng.integers(2**63, size=problem.m)
    co_models: list[CoModel | None] = []
    co_reports: list[CoModelReport | None] = []
    reports: list[ModelReport | None] = []
    for i, own in enumerate(fitted):
        data = _co_data(problem, snapshot, i, settings, int(seeds[i]))
        co = None if data is None else family.co(data, settings)
        co_models.append(None if co is None else CoModel(co.model))
        co_reports.append(None if co is None else _co_report(snapshot, i, settings))
        reports.append(None if own is None else _with_warm_start(own, co))
    used = tuple(report is not None and report.used for report in co_reports)
    return ObjectiveModels(
        plain=tuple(Constant() if own is None else own.model for own in fitted),
        co=tuple(co_models),
        co_used=used,
        cheap=np.array(problem.cheap, dtype=np.int64),
        reports=tuple(reports),
        co_reports=tuple(co_reports),
    )


def _co_data(
    problem: Problem,
    snapshot: Snapshot,
    i: int,
    settings: CounterpoiseSettings,
    seed: int,
) -> CoData | None:
    """None where there is no co-model."""
    if settings.co_model == "never" or i in problem.cheap or not problem.cheap:
        return None
    if len(snapshot.X) < 2:
        return None
    X, F = snapshot.X, snapshot.F
    inputs = np.hstack([X, F[:, problem.cheap]])  # (n, d + p)
    before = snapshot.warm_starts[i]
    warm_start = None if before is None else before.get("co")
    return CoData(Data(inputs, F[:, i]), problem.groups, warm_start, seed)


def _with_warm_start(own: Fitted, co: FittedCoModel | None) -> ModelReport:
    """The report with what the next step's fits start from."""
    warm_start = {"model": own.warm_start}
    if co is not None:
        warm_start["co"] = co.warm_start
    return replace(own.report, warm_start=warm_start)


def _co_report(
    snapshot: Snapshot, i: int, settings: CounterpoiseSettings
) -> CoModelReport:
    found = errors(snapshot.forecasts[i], settings)
    return CoModelReport(
        used=earned(snapshot.forecasts[i], settings),
        plain_error=None if found is None else found[0],
        co_error=None if found is None else found[1],
    )
