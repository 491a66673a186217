"""What engineers see of a study: progress from counters, health in plain words."""

import statistics
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from app.domain.timestamps import iso
from app.service.planning.ratios import ENOUGH, ratio_source
from app.service.studies.lifecycle import find
from app.service.work.workers import ALIVE_S
from app.store.database import Database
from app.store.studies.listings import database_time, head_age, live_workers
from app.store.studies.samples import last_durations
from app.store.studies.steps import LONGEST_CLAIM_S, due_steps, last_records
from app.store.studies.studies import leased_counts, objectives_of, page_of_studies
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import Hypervolume, ObjectiveView, StudySummary, StudyView

LATE_PLAN_S = 30.0
LONG_WAIT_S = 10.0


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


def health(
    connection: Connection, study: Row[Any], rows: Sequence[Row[Any]], objectives: Sequence[ObjectiveView]
) -> list[str]:
    words: list[str] = []
    if study.state == "paused":
        words += _rest(study, objectives)
    if study.phase == "finished" and study.ending and study.ending != "the budget is used up":
        words.append(f"the study is finished: {study.ending}")
    words += _queues(connection, study, rows, objectives)
    words += _steps(connection, study)
    for seen in objectives:
        if seen.failed and seen.same_run_as is None:
            total = seen.failed + seen.done
            words.append(
                f"objective {seen.name}: {seen.failed} of {total} settled jobs failed; `study retry` runs them again"
            )
    return words


def _rest(study: Row[Any], objectives: Sequence[ObjectiveView]) -> list[str]:
    if study.phase != "finished":
        return ["the study is paused: no new leases and no new steps until it is resumed"]
    waits = any(seen.ready for seen in objectives)  # retried, or imported to be evaluated
    return ["the study is paused: no new leases until it is resumed"] if waits else []


def _queues(
    connection: Connection, study: Row[Any], rows: Sequence[Row[Any]], objectives: Sequence[ObjectiveView]
) -> list[str]:
    words = []
    alive = [worker for worker in live_workers(connection, ALIVE_S) if _takes(worker["studies"], study.name)]
    resting = [worker["name"] for worker in alive if worker["drained"]]
    if resting and study.phase != "finished":
        some = ", ".join(resting[:3]) + (f" and {len(resting) - 3} more" if len(resting) > 3 else "")
        words.append(f"drained, so that they get no more jobs: {some}; `workers undrain` lets a worker go on")
    for row, seen in zip(rows, objectives, strict=True):
        if row.same_run_as is not None or not seen.ready or seen.leased or study.state == "paused":
            continue  # whoever holds a job of it can evaluate it, though it may not have asked for hours
        able = [w for w in alive if not w["drained"] and _takes(w["objectives"], row.name)]
        age = head_age(connection, row.id)
        if not able and age is not None and age > LONG_WAIT_S:
            jobs = "1 job has" if seen.ready == 1 else f"{seen.ready} jobs have"
            words.append(f"objective {row.name}: {jobs} waited {_span(age)} and no live worker can evaluate it")
    return words


def _takes(wanted: Sequence[str], name: str) -> bool:
    return "*" in wanted or name in wanted


def _steps(connection: Connection, study: Row[Any]) -> list[str]:
    words = []
    now = database_time(connection)
    for step in due_steps(connection, study.id):
        title = f"step {step.kind} {step.number}"
        if step.fault:
            often = "once" if step.faults == 1 else f"{step.faults} times"
            words.append(f"{title} failed {often} and will be tried again: {step.fault}")
        ripe_at = max(step.due_at, step.retry_at or 0.0)
        if study.state == "active" and not _is_claimed(step, now) and now - ripe_at > LATE_PLAN_S:
            words.append(f"{title} has been due for {_span(now - step.due_at)}; is a planner running?")
    return words


def _is_claimed(step: Row[Any], now: float) -> bool:
    """A planner that died leaves its claim behind; one that runs out too late comes from a clock that was set back."""
    until = step.claim_expires_at
    return until is not None and now <= until <= now + LONGEST_CLAIM_S


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
