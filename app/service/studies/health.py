"""What needs an engineer's attention in a study: a code for programs, a sentence for people."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from app.domain.step_names import name_in
from app.service.work.workers import ALIVE_S
from app.store.studies.listings import database_time, head_age, live_workers
from app.store.studies.steps import LONGEST_CLAIM_S, due_steps
from counterpoise.wire.codes import Ending, HealthCode, Phase, StudyState
from counterpoise.wire.views import HealthItem, ObjectiveView

LATE_PLAN_S = 30.0
LONG_WAIT_S = 10.0
ENDINGS = {
    Ending.BUDGET_USED: "the budget is used up",
    Ending.STOPPED: "it was stopped",
    Ending.SPACE_EXHAUSTED: "all points that the variables allow have been proposed",
}


def health(
    connection: Connection, study: Row[Any], rows: Sequence[Row[Any]], objectives: Sequence[ObjectiveView]
) -> list[HealthItem]:
    return [
        *_study_items(study, objectives),
        *_worker_items(connection, study, rows, objectives),
        *_step_items(connection, study),
        *_failure_items(objectives),
    ]


def _study_items(study: Row[Any], objectives: Sequence[ObjectiveView]) -> list[HealthItem]:
    items = []
    finished = study.phase == Phase.FINISHED
    if study.state == StudyState.PAUSED and not finished:
        detail = "the study is paused: no new leases and no new steps until it is resumed"
        items.append(HealthItem(code=HealthCode.PAUSED, detail=detail))
    elif study.state == StudyState.PAUSED and any(objective.ready for objective in objectives):
        # Jobs of a finished study: retried, or imported to be evaluated.
        detail = "the study is paused: no new leases until it is resumed"
        items.append(HealthItem(code=HealthCode.PAUSED, detail=detail))
    if finished and study.ending and study.ending != Ending.BUDGET_USED:
        detail = f"the study is finished: {ENDINGS[Ending(study.ending)]}"
        items.append(HealthItem(code=HealthCode.FINISHED_EARLY, detail=detail))
    return items


def _worker_items(
    connection: Connection, study: Row[Any], rows: Sequence[Row[Any]], objectives: Sequence[ObjectiveView]
) -> list[HealthItem]:
    items = []
    alive = [worker for worker in live_workers(connection, ALIVE_S) if _takes(worker["studies"], study.name)]
    drained = [worker["name"] for worker in alive if worker["drained"]]
    if drained and study.phase != Phase.FINISHED:
        names = ", ".join(drained[:3]) + (f" and {len(drained) - 3} more" if len(drained) > 3 else "")
        detail = f"drained, so that they get no more jobs: {names}; `workers undrain` lets a worker go on"
        items.append(HealthItem(code=HealthCode.WORKERS_DRAINED, detail=detail))
    for row, objective in zip(rows, objectives, strict=True):
        if row.same_run_as is not None or study.state == StudyState.PAUSED:
            continue
        if not objective.ready or objective.leased:  # a worker that holds a job of it can evaluate it
            continue
        able = [worker for worker in alive if not worker["drained"] and _takes(worker["objectives"], row.name)]
        age = head_age(connection, row.id)
        if not able and age is not None and age > LONG_WAIT_S:
            jobs = "1 job has" if objective.ready == 1 else f"{objective.ready} jobs have"
            detail = f"objective {row.name}: {jobs} waited {_span(age)} and no live worker can evaluate it"
            items.append(HealthItem(code=HealthCode.NO_WORKER, detail=detail, objective=row.name))
    return items


def _takes(wanted: Sequence[str], name: str) -> bool:
    return "*" in wanted or name in wanted


def _step_items(connection: Connection, study: Row[Any]) -> list[HealthItem]:
    items = []
    now = database_time(connection)
    for step in due_steps(connection, study.id):
        name = name_in(study, step.kind, step.number, step.objective)
        title = f"step {step.kind} {step.number}"
        if step.fault:
            often = "once" if step.faults == 1 else f"{step.faults} times"
            detail = f"{title} failed {often} and will be tried again: {step.fault}"
            items.append(HealthItem(code=HealthCode.STEP_FAILED, detail=detail, step=name))
        ripe_at = max(step.due_at, step.retry_at or 0.0)
        if study.state == StudyState.ACTIVE and not _is_claimed(step, now) and now - ripe_at > LATE_PLAN_S:
            detail = f"{title} has been due for {_span(now - step.due_at)}; is a planner running?"
            items.append(HealthItem(code=HealthCode.PLANNER_MISSING, detail=detail, step=name))
    return items


def _is_claimed(step: Row[Any], now: float) -> bool:
    """A planner that died leaves its claim behind; one that expires too late comes from a clock that was set back."""
    until = step.claim_expires_at
    return until is not None and now <= until <= now + LONGEST_CLAIM_S


def _failure_items(objectives: Sequence[ObjectiveView]) -> list[HealthItem]:
    items = []
    for objective in objectives:
        if objective.failed and objective.same_run_as is None:
            settled = objective.failed + objective.done
            detail = (
                f"objective {objective.name}: {objective.failed} of {settled} settled jobs failed;"
                " `study retry` runs them again"
            )
            items.append(HealthItem(code=HealthCode.JOBS_FAILED, detail=detail, objective=objective.name))
    return items


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
