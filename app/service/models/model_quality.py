"""How well the models of each output predict, over the steps and against values that
came later.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.monitoring.assessments import model_assessment, within_two
from app.domain.monitoring.even_spread import spread
from app.domain.studies import Objective, Study
from app.service.require_study import require_study
from app.store.database import Connection, Database
from app.store.monitoring.steps import (
    StepPart,
    full_samples_of_steps,
    search_steps,
)
from app.store.studies.evaluations import evaluations_of
from app.store.studies.studies import objectives_of
from counterpoise.wire.codes import ModelAssessment
from counterpoise.wire.monitoring.models import (
    Forecast,
    ModelAtStep,
    ModelsView,
    OutputModel,
)
from counterpoise.wire.specification import Objective as SpecObjective

# Of the latest steps, whose full samples are compared with their predictions
FORECAST_STEPS = 20
# By sample and objective
Values = Mapping[tuple[int, int], float]
# A step, a sample that it proposed, and what its models predicted of it
Predicted = tuple[StepPart, int, dict[str, Any]]


def model_quality(database: Database, name: str, most: int) -> ModelsView:
    with database.read() as connection:
        study = require_study(connection, name)
        objectives = objectives_of(connection, study.id)
        steps = search_steps(
            connection, study.id, spread(study.step, most), ("models",)
        )
        predicted = _predicted(connection, study)
        values = _values(connection, {sample for _, sample, _ in predicted})
    outputs = []
    for objective in objectives:
        history = _history(steps, objective.position)
        forecasts = _forecasts(study, objective, predicted, values)
        outputs.append(_output(study, objective, history, forecasts))
    return ModelsView(study=study.name, steps=study.step, outputs=outputs)


def _predicted(connection: Connection, study: Study) -> list[Predicted]:
    """Full samples of the latest steps, promoted ones first, with what the step
    predicted of them.
    """
    first = max(study.step - FORECAST_STEPS + 1, 1)
    numbers = range(first, study.step + 1)
    steps = search_steps(connection, study.id, numbers, ("full_samples", "promoted"))
    proposed = full_samples_of_steps(connection, [step.id for step in steps])
    found = []
    for step in steps:
        samples = (step.parts["promoted"] or []) + proposed.get(step.id, [])
        reports = step.parts["full_samples"] or []
        if len(reports) == len(samples):
            found += [
                (step, sample, report)
                for sample, report in zip(samples, reports, strict=True)
            ]
    return found


def _values(connection: Connection, samples: set[int]) -> Values:
    values = {}
    for evaluation in evaluations_of(connection, samples):
        if evaluation.value is not None:
            values[evaluation.sample, evaluation.objective] = evaluation.value
    return values


def _history(steps: Sequence[StepPart], position: int) -> list[ModelAtStep]:
    history = []
    for step in steps:
        reports = step.parts["models"] or []
        report = reports[position] if position < len(reports) else None
        if report is None:
            continue
        skill = report.get("skill")
        at_step = ModelAtStep(
            step=step.name,
            number=step.number,
            size=report["size"],
            skill=skill,
            error=None if skill is None else max(1.0 - skill, 0.0) ** 0.5,
            calibration=report.get("calibration"),
        )
        history.append(at_step)
    return history


def _forecasts(
    study: Study,
    objective: Objective,
    predicted: Sequence[Predicted],
    values: Values,
) -> list[Forecast]:
    if objective.position >= len(study.spec.objectives):
        return []  # the model of a constraint predicts its margin, not its value
    spec = study.spec.objectives[objective.position]
    sign = spec.sign
    forecasts = []
    for step, sample, report in predicted:
        observed = values.get((sample, objective.id))
        mean = report["mean"][objective.position]
        deviation = report["deviation"][objective.position]
        is_predicted = mean is not None and bool(deviation)  # 0: it was known
        if observed is None or not is_predicted:
            continue
        error = observed - sign * mean
        forecast = Forecast(
            sample=sample,
            step=step.name,
            number=step.number,
            predicted=sign * mean,
            deviation=deviation,
            observed=observed,
            surprise=error / deviation,
        )
        forecasts.append(forecast)
    return forecasts


def _output(
    study: Study,
    objective: Objective,
    history: Sequence[ModelAtStep],
    forecasts: Sequence[Forecast],
) -> OutputModel:
    spec = study.spec.outputs[objective.position]
    surprises = [forecast.surprise for forecast in forecasts]
    last = history[-1] if history else None
    assessment = ModelAssessment.UNKNOWN
    if last is not None:
        assessment = model_assessment(
            last.size, last.skill, last.calibration, surprises
        )
    return OutputModel(
        objective=objective.name,
        unit=spec.unit,
        direction=spec.direction if isinstance(spec, SpecObjective) else None,
        assessment=assessment,
        detail=_detail(assessment, last),
        steps=list(history),
        forecasts=list(forecasts),
        within_two=within_two(surprises),
    )


def _detail(assessment: ModelAssessment, last: ModelAtStep | None) -> str:
    if last is None or last.skill is None:
        return "There is no model to judge yet."
    explained = f"it explains {max(100.0 * last.skill, 0.0):.0f} % of the variation"
    sentences = {
        ModelAssessment.UNKNOWN: "Too few values to judge the model.",
        ModelAssessment.GOOD: f"The model predicts well: {explained}.",
        ModelAssessment.FAIR: f"The model shows the trend: {explained}.",
        ModelAssessment.POOR: f"The model hardly helps: {explained}.",
        ModelAssessment.OVERCONFIDENT: f"Its errors are larger than it predicts, although {explained}.",
    }
    return sentences[assessment]
