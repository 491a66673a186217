"""The models of all objectives: predictions that respect what is already known of a
sample.

| symbol   | here            | meaning                                      |
|----------|-----------------|----------------------------------------------|
| p        | `len(cheap)`    | cheap objectives                             |
| mean     | (N, m)          | predicted, or known                          |
| deviation| (N, m)          | of the prediction; 0 where the value is known|
"""

from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Bools, Floats, Ints
from app.optimizer.models.kriging import Kriging
from app.optimizer.models.model_report import ModelReport, report_on
from app.optimizer.problem import Problem
from app.optimizer.proposal.full_sample_report import CoModelReport
from app.optimizer.samples import Samples
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.counterpoise.models.co_model import (
    CoModel,
    earned,
    errors,
)
from app.optimizer.strategies.counterpoise.models.model import (
    Constant,
    Fit,
    Model,
    fit_kriging,
)
from app.optimizer.strategies.counterpoise.models.training import (
    full_samples,
    training_data,
)
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings


@dataclass(frozen=True, slots=True, eq=False)
class ObjectiveModels:
    plain: tuple[Model, ...]  # one per objective
    co: tuple[CoModel | None, ...]
    co_used: tuple[bool, ...]
    cheap: Ints  # (p,)
    reports: tuple[ModelReport | None, ...]
    co_reports: tuple[CoModelReport | None, ...]

    def means(self, X: Floats) -> Floats:
        """Of new points, (N, m)."""
        mean = np.stack([model.mean(X) for model in self.plain], axis=1)
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
        mean, deviation = self._plain(X, F, known)
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
    fit: Fit = fit_kriging,
) -> ObjectiveModels:
    """One model per objective, and a co-model of each expensive one."""
    rows = full_samples(snapshot, settings.model_rows, rng)
    cheap = np.array(problem.cheap, dtype=np.int64)
    plain: list[Model] = []
    reports: list[ModelReport | None] = []
    for i in range(problem.m):
        data = training_data(snapshot, rows, i, settings.model_rows)
        fitted = (
            fit(data, snapshot.theta[i], snapshot.pending[i], settings.tuned_rows)
            if len(data)
            else None
        )
        plain.append(Constant() if fitted is None else fitted)
        reports.append(report_on(fitted, None))
    co_models: list[CoModel | None] = []
    co_reports: list[CoModelReport | None] = []
    for i in range(problem.m):
        fitted = _fit_co_model(problem, snapshot, rows, i, settings, fit)
        co_models.append(None if fitted is None else CoModel(fitted))
        co_reports.append(
            None if fitted is None else _co_report(fitted, snapshot, i, settings)
        )
    used = tuple(each is not None and each.used for each in co_reports)
    return ObjectiveModels(
        tuple(plain), tuple(co_models), used, cheap, tuple(reports), tuple(co_reports)
    )


def _fit_co_model(
    problem: Problem,
    snapshot: Snapshot,
    rows: Ints,
    i: int,
    settings: CounterpoiseSettings,
    fit: Fit,
) -> Kriging | None:
    if (
        settings.co_model == "never"
        or i in problem.cheap
        or not problem.cheap
        or len(rows) < 2
    ):
        return None
    # (n, d + p)
    inputs = np.hstack([snapshot.X[rows], snapshot.F[rows][:, problem.cheap]])
    data = Data(inputs, snapshot.F[rows, i])
    return fit(data, snapshot.co_theta[i], inputs[:0], settings.tuned_rows)


def _co_report(
    fitted: Kriging, snapshot: Snapshot, i: int, settings: CounterpoiseSettings
) -> CoModelReport:
    found = errors(snapshot.forecasts[i], settings)
    return CoModelReport(
        used=earned(snapshot.forecasts[i], settings),
        theta=tuple(float(each) for each in fitted.theta_),
        plain_error=None if found is None else found[0],
        co_error=None if found is None else found[1],
    )
