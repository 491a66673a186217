"""What the models of a study's last search step predict; nothing is fitted here."""

from collections.abc import Mapping, Sequence

from app.domain.steps import NO_OBJECTIVE, step_name
from app.domain.studies import Study
from app.errors import PointInvalid, PredictionsBusy, StateChanged
from app.service.models.prediction_process import PredictionProcess, PredictionTask
from app.service.require_study import require_study
from app.service.studies.points import parse_point
from app.store.database import Database
from app.store.monitoring.step_models import predicting_step
from counterpoise.wire.codes import StepKind
from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.monitoring.predictions import (
    MOST_POINTS,
    Prediction,
    PredictionsView,
)
from counterpoise.wire.problems import Fault
from counterpoise.wire.views import Estimate, FrontView

ATTEMPTS = 3  # a step may replace the models between two queries


def predicted_front(database: Database, name: str) -> PredictionsView:
    with database.read() as connection:
        study = require_study(connection, name)
        step = predicting_step(connection, study.id)
    if step is None:
        return _view(study, None, [])
    items = [
        _prediction(study, row["x"], row["mean"], row["deviation"])
        for row in step.front
    ]
    return _view(study, step.number, items)


def predict(
    database: Database,
    process: PredictionProcess,
    name: str,
    points: Sequence[Mapping[str, Coordinate]],
) -> PredictionsView:
    for _ in range(ATTEMPTS):
        with database.read() as connection:
            study = require_study(connection, name)
            step = predicting_step(connection, study.id)
        X = _parse(study, points)
        if step is None:
            return _view(study, None, [])
        predicted = process.predict(PredictionTask(step.step, study.spec, X))
        if predicted is not None:
            rows = zip(X, *predicted, strict=True)
            items = [_prediction(study, *row) for row in rows]
            return _view(study, step.number, items)
    raise StateChanged(f"steps of study {name!r} were finished meanwhile; try again")


def with_estimates(
    database: Database, process: PredictionProcess, name: str, front: FrontView
) -> FrontView:
    """The front with what the models expect of its noisy objectives."""
    with database.read() as connection:
        spec = require_study(connection, name).spec
    noisy = [objective.name for objective in spec.objectives if objective.noise]
    items = front.items[:MOST_POINTS]
    if not noisy or not items:
        return front
    points = [item.x for item in items]
    try:
        predicted = predict(database, process, name, points).items
    except (PredictionsBusy, StateChanged):
        return front  # measured values do not wait for the models
    for item, prediction in zip(items, predicted, strict=False):
        item.estimates = {
            objective: Estimate(
                mean=prediction.mean[objective],
                deviation=prediction.deviation[objective],
            )
            for objective in noisy
        }
    return front


def _parse(
    study: Study, points: Sequence[Mapping[str, Coordinate]]
) -> list[list[Coordinate]]:
    faults: list[Fault] = []
    X = []
    for index, point in enumerate(points):
        x, wrong = parse_point(study.spec, point, f"/points/{index}")
        faults += wrong
        X.append(x)
    if faults:
        raise PointInvalid(faults)
    return X


def _view(study: Study, number: int | None, items: list[Prediction]) -> PredictionsView:
    step = None
    if number is not None:
        step = step_name(StepKind.SEARCH, number, NO_OBJECTIVE, ())
    return PredictionsView(study=study.name, step=step, number=number, items=items)


def _prediction(
    study: Study,
    x: Sequence[Coordinate],
    mean: Sequence[float | None],
    deviation: Sequence[float | None],
) -> Prediction:
    """In the user's directions."""
    variables = [variable.name for variable in study.spec.variables]
    means: dict[str, float | None] = {}
    for objective, value in zip(study.spec.objectives, mean, strict=True):
        means[objective.name] = None if value is None else objective.sign * value
    return Prediction(
        x=dict(zip(variables, x, strict=True)),
        mean=means,
        deviation=dict(zip(means, deviation, strict=True)),
    )
