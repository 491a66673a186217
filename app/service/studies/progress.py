"""What engineers see of a study, from counters."""

import statistics
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from app.domain.timestamps import iso
from app.service.planning.ratios import ENOUGH, ratio_source
from app.service.studies.health import health
from app.service.studies.lifecycle import find
from app.store.database import Database
from app.store.studies.samples import last_durations
from app.store.studies.steps import last_records
from app.store.studies.studies import leased_counts, objectives_of, page_of_studies
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import Hypervolume, ObjectiveView, StudySummary, StudyView


def summary(study: Row[Any]) -> dict[str, Any]:
    return {
        "name": study.name,
        "phase": study.phase,
        "state": study.state,
        "step": study.step,
        "evaluated_full": study.settled_full,
        "planned_full": study.planned_full,
        "imported": study.imported,
        "budget": study.budget,
        "created_at": iso(study.created_at),
        "finished_at": iso(study.finished_at),
        "ending": study.ending,
    }


def list_studies(database: Database, after: int, limit: int) -> list[tuple[int, StudySummary]]:
    with database.read() as connection:
        return [(row.id, StudySummary(**summary(row))) for row in page_of_studies(connection, after, limit)]


def view(database: Database, name: str) -> StudyView:
    with database.read() as connection:
        study = find(connection, name)
        rows = objectives_of(connection, study.id)
        leased = leased_counts(connection, study.id)
        objectives = [_objective(connection, study, row, leased) for row in rows]
        last = last_records(connection, study.id, 2)
        return StudyView(
            **summary(study),
            objectives=objectives,
            ratio_source=ratio_source(connection, study, rows),
            hypervolume=_hypervolume(study, last),
            planning_s=max(last[0].done_at - last[0].due_at, 0.0) if last else None,
            health=health(connection, study, rows, objectives),
            spec=Specification.model_validate(study.spec).model_dump(mode="json"),  # 1e23 may be an integer there
        )


def _objective(connection: Connection, study: Row[Any], row: Row[Any], leased: dict[int, int]) -> ObjectiveView:
    spec = study.spec["objectives"][row.position]
    run = row.same_run_as or row.id
    durations = last_durations(connection, run, 100)
    held = leased.get(run, 0)
    return ObjectiveView(
        name=row.name,
        direction=spec["direction"],
        unit=spec["unit"],
        same_run_as=spec["same_run_as"],
        cheap=bool(row.cheap) if row.cheap is not None else row.ratio > study.spec["cheap_threshold"],
        ratio=row.ratio,
        median_duration_s=statistics.median(durations) if durations else None,
        duration_quartiles_s=_quartiles(durations),
        ready=row.created - row.done - row.failed - row.superseded - held,
        leased=held,
        done=row.done,
        failed=row.failed,
        superseded=row.superseded,
    )


def _quartiles(durations: Sequence[float]) -> tuple[float, float] | None:
    if len(durations) < ENOUGH:
        return None
    first, _, third = statistics.quantiles(durations, n=4, method="inclusive")
    return first, third


def _hypervolume(study: Row[Any], last: Sequence[Row[Any]]) -> Hypervolume | None:
    found, before = ([(step.record or {}).get("hypervolume") for step in last] + [None, None])[:2]
    if not found:
        return None
    step = last[0]
    objectives = study.spec["objectives"]
    reference = {
        o["name"]: -value if o["direction"] == "maximize" else value
        for o, value in zip(objectives, found["reference"], strict=True)
    }
    number = step.number if step.kind == "search" else study.step
    return Hypervolume(
        value=found["value"],
        reference_point=reference,
        step=number,
        exact=found["exact"],
        front=found.get("front"),
        previous=before["value"] if before else None,
    )
