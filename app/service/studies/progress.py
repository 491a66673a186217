"""A study as engineers see it, in a constant number of queries."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from app.domain.planning.ratios import ENOUGH_DURATIONS, LAST_DURATIONS, ratio_source
from app.domain.steps import Step
from app.domain.studies import Objective, Study
from app.domain.times import iso
from app.service.monitoring.convergence import reference_point
from app.service.require_study import require_study
from app.service.studies.feasibility import feasible_count
from app.service.studies.health import health
from app.store.database import Database
from app.store.studies.evaluations import last_durations
from app.store.studies.steps import last_recorded_steps
from app.store.studies.studies import leased_counts, objectives_of, page_of_studies
from counterpoise.wire.codes import StepKind
from counterpoise.wire.specification import Objective as SpecObjective
from counterpoise.wire.views import (
    ConstraintView,
    Hypervolume,
    ObjectiveView,
    OutputView,
    StudySummary,
    StudyView,
)


def list_studies(
    database: Database, after: int, limit: int
) -> list[tuple[int, StudySummary]]:
    with database.read() as connection:
        studies = page_of_studies(connection, after, limit)
    return [(study.id, StudySummary(**_summary(study))) for study in studies]


def study_view(database: Database, name: str) -> StudyView:
    with database.read() as connection:
        study = require_study(connection, name)
        objectives = objectives_of(connection, study.id)
        leased = leased_counts(connection, study.id)
        runs = [objective.id for objective in objectives if objective.has_jobs]
        durations = last_durations(connection, runs, LAST_DURATIONS)
        last_steps = last_recorded_steps(connection, study.id, 2)
        views = [
            _output_view(study, objective, leased, durations)
            for objective in objectives
        ]
        items = health(connection, study, objectives, views, durations, last_steps)
    return StudyView(
        **_summary(study),
        objectives=[view for view in views if isinstance(view, ObjectiveView)],
        constraints=[view for view in views if isinstance(view, ConstraintView)],
        feasible=feasible_count(last_steps),
        ratio_source=ratio_source(study.spec, objectives, durations),
        overlap=study.overlap,
        slow_slots=study.slow_slots,
        hypervolume=_hypervolume(study, last_steps),
        planning_s=_planning_s(last_steps),
        health=items,
        spec=study.spec.model_dump(mode="json") | {"seed": study.seed},
    )


def _summary(study: Study) -> dict[str, Any]:
    return {
        "name": study.name,
        "phase": study.phase,
        "state": study.state,
        "step": study.step,
        "evaluated_full": study.settled_full,
        "planned_full": study.planned_full,
        "withdrawn": study.withdrawn,
        "imported": study.imported,
        "budget": study.budget,
        "created_at": iso(study.created_at),
        "finished_at": iso(study.finished_at),
        "ending": study.ending,
    }


def _output_view(
    study: Study,
    objective: Objective,
    leased: Mapping[int, int],
    durations: Mapping[int, Sequence[float]],
) -> ObjectiveView | ConstraintView:
    spec = study.spec.outputs[objective.position]
    latest = durations[objective.run]
    held = leased.get(objective.run, 0)
    shared = OutputView(
        name=objective.name,
        unit=spec.unit,
        lower=spec.lower,
        upper=spec.upper,
        same_run_as=spec.same_run_as,
        cheap=objective.is_cheap(study.spec.cheap_threshold),
        ratio=objective.ratio,
        median_duration_s=statistics.median(latest) if latest else None,
        duration_quartiles_s=_quartiles(latest),
        waiting=objective.waiting,
        ready=objective.ready(held),
        leased=held,
        done=objective.done,
        infeasible=objective.infeasible,
        failed=objective.failed,
        superseded=objective.superseded,
    )
    if isinstance(spec, SpecObjective):
        optimised = {"direction": spec.direction, "noise": spec.noise}
        return ObjectiveView(**dict(shared), **optimised)
    return ConstraintView(**dict(shared))


def _quartiles(durations: Sequence[float]) -> tuple[float, float] | None:
    if len(durations) < ENOUGH_DURATIONS:
        return None
    first, _, third = statistics.quantiles(durations, n=4, method="inclusive")
    return first, third


def _planning_s(last_steps: Sequence[Step]) -> float | None:
    """How long the last step took, from due to done."""
    if not last_steps or last_steps[0].done_at is None:
        return None
    return max(last_steps[0].done_at - last_steps[0].due_at, 0.0)


def _hypervolume(study: Study, last_steps: Sequence[Step]) -> Hypervolume | None:
    recorded = [step.hypervolume for step in last_steps]
    if not recorded or not recorded[0]:
        return None
    last, step = recorded[0], last_steps[0]
    before = recorded[1] if len(recorded) > 1 else None
    return Hypervolume(
        value=last["value"],
        reference_point=reference_point(study, last) or {},
        step=step.number if step.kind is StepKind.SEARCH else study.step,
        exact=last["exact"],
        front=last.get("front"),
        previous=before["value"] if before else None,
    )
