"""Kriging models for the strategy: an ablation."""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.belief import DEVIATIONS
from app.optimizer.models.fit_task import Map, spread_over_values
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.model_report import report_on
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Data, Snapshot, WarmStart
from app.optimizer.strategies.counterpoise.models.family import (
    CoData,
    Family,
    Fitted,
    FittedCoModel,
)
from app.optimizer.strategies.counterpoise.models.training import (
    full_samples,
    training_data,
)
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings


def kriging_models(
    problem: Problem,
    snapshot: Snapshot,
    settings: CounterpoiseSettings,
    rng: np.random.Generator,
    _fit: Map,
) -> list[Fitted | None]:
    rows = full_samples(snapshot, settings.model_rows, rng)
    return [
        _kriging_model(
            snapshot, training_data(snapshot, rows, i, settings.model_rows), i, settings
        )
        for i in range(problem.m)
    ]


def _kriging_model(
    snapshot: Snapshot, data: Data, i: int, settings: CounterpoiseSettings
) -> Fitted | None:
    if len(data) == 0:
        return None
    start = _theta(snapshot.warm_starts[i])
    fitted = fit_kriging(data, start, settings.tuned_rows)
    model = fitted.believe(snapshot.awaited(i), DEVIATIONS[settings.belief])
    report = report_on(fitted, None)
    return Fitted(model, report, _warm_start(fitted))


def kriging_co_model(co: CoData, settings: CounterpoiseSettings) -> FittedCoModel:
    start = None if co.warm_start is None else np.array(co.warm_start["theta"])
    fitted = fit_kriging(co.data, start, settings.tuned_rows)
    return FittedCoModel(fitted, _warm_start(fitted))


def fit_kriging(data: Data, theta: Floats | None, tuned_rows: int) -> Kriging:
    """Hyperparameters from a part of the data, the posterior from all."""
    if len(data) <= tuned_rows:
        return Kriging(theta0=theta).fit(data.X, data.y)
    rows = np.sort(spread_over_values(data.y, tuned_rows))
    found = Kriging(theta0=theta).fit(data.X[rows], data.y[rows]).theta_
    return Kriging(theta0=found, optimize=False).fit(data.X, data.y)


def _theta(warm_start: WarmStart | None) -> Floats | None:
    return None if warm_start is None else np.array(warm_start["model"]["theta"])


def _warm_start(model: Kriging) -> WarmStart:
    return {"theta": [float(coefficient) for coefficient in model.theta_]}


KRIGING = Family(kriging_models, kriging_co_model)
