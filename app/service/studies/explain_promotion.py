"""Why a sample was promoted: what the step expected, and what was told."""

from app.domain.samples import Sample
from app.domain.studies import Objective, Study
from app.store.database import Connection
from app.store.studies.steps import find_step
from counterpoise.wire.codes import StepKind
from counterpoise.wire.views import PromotionView


def promotion_of(
    connection: Connection,
    study: Study,
    sample: Sample,
    objective: Objective,
    observed: float | None,
) -> PromotionView | None:
    """None if the sample was not promoted, or by a strategy that gives no reasons."""
    if sample.promoted_in is None:
        return None
    step = find_step(connection, study.id, StepKind.SEARCH, sample.promoted_in)
    if step is None:
        return None
    reports = dict(zip(step.promoted, step.reports, strict=False))
    report = reports.get(sample.id)
    if report is None or objective.position >= len(report["mean"]):
        return None
    declared = study.spec.outputs[objective.position]
    predicted = declared.sign * report["mean"][objective.position]
    return PromotionView(
        step=step.name(study.spec.output_names),
        gain=report["gain"],
        predicted=predicted,
        deviation=report["deviation"][objective.position],
        observed=observed,
    )
