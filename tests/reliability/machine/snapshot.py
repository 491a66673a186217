"""A study as the database has it and as the model has it, in one form that can be
compared.
"""

from typing import Any

from tests.reliability.machine.tables import StudyTables
from tests.reliability.model.records import Attempt, Job, LogEntry, Sample, StepId
from tests.reliability.model.study import STATES, StudyModel

Snapshot = dict[str, Any]


def step_id(step: Any) -> StepId:
    return StepId(step.kind, step.objective, step.number)


def database_snapshot(tables: StudyTables) -> Snapshot:
    study = tables.study
    names = {row.id: row.name for row in tables.objectives}
    return {
        "phase": study.phase,
        "state": study.state,
        "budget": study.budget,
        "step": study.step,
        "planned_full": study.planned_full,
        "settled_full": study.settled_full,
        "withdrawn": study.withdrawn,
        "stopped": study.ending == "stopped",
        "cancel_running": study.cancel_running,
        "imported": study.imported,
        "imported_complete": study.imported_complete,
        "samples": {row.id: stored_sample(row) for row in tables.samples},
        "open outputs": {row.id: row.open for row in tables.samples},
        "jobs": {row.id: stored_job(row, names) for row in tables.jobs},
        "attempts": {row.lease: _stored_attempt(row) for row in tables.attempts},
        "log": _stored_log(tables, names),
        "counters": {row.name: _stored_counters(row) for row in tables.objectives},
        "anomalies": {
            row.name: (row.expired, row.late, row.duplicate)
            for row in tables.objectives
        },
        "due steps": sorted(step_id(row) for row in tables.steps if row.state == "due"),
        "done steps": sorted(
            step_id(row) for row in tables.steps if row.state == "done"
        ),
    }


def stored_sample(row: Any) -> Sample:
    return Sample(
        full=row.full,
        x=tuple(float(coordinate) for coordinate in row.x),
        imported=row.imported_seq is not None,
        given_up=row.given_up,
        infeasible=row.infeasible,
    )


def stored_job(row: Any, names: dict[int, str]) -> Job:
    return Job(
        sample=row.sample_id,
        objective=names[row.objective_id],
        cheap_only=row.cheap_only,
        step=row.step,
        state=row.state,
        lease=row.lease,
        attempts=row.attempts,
        errors=row.errors,
        losses=row.losses,
        backs_off=row.ready_at is not None,
    )


def _stored_attempt(row: Any) -> Attempt:
    details = row.details or {}
    return Attempt(
        job=row.job_id,
        number=row.number,
        outcome=row.outcome,
        value=row.value,
        failure=row.failure,
        also=details.get("also", {}),
    )


def _stored_counters(row: Any) -> tuple[int, ...]:
    states = [getattr(row, state) for state in STATES]
    return (row.created, *states, row.open_full)


def _stored_log(tables: StudyTables, names: dict[int, str]) -> list[LogEntry]:
    value_at = {row.seq: row for row in tables.values}
    log = []
    for event in tables.events:
        entry = LogEntry(event.kind)
        value = value_at.get(event.seq)
        if value is not None:
            entry = LogEntry(
                kind=event.kind,
                sample=value.sample_id,
                objective=names[value.objective_id],
                value=value.value,
                failure=value.failure,
            )
        log.append(entry)
    return log


def model_snapshot(model: StudyModel) -> Snapshot:
    return {
        "phase": model.phase,
        "state": "active" if model.active else "paused",
        "budget": model.budget,
        "step": model.step,
        "planned_full": len(model.planned_full),
        "settled_full": len(model.settled_full),
        "withdrawn": model.withdrawn,
        "stopped": model.stopped,
        "cancel_running": model.cancel_running,
        "imported": sum(sample.imported for sample in model.samples.values()),
        "imported_complete": model.imported_complete,
        "samples": model.samples,
        "open outputs": {
            number: model.open_outputs(number) for number in model.samples
        },
        "jobs": model.jobs,
        "attempts": model.attempts,
        "log": model.log,
        "counters": model.counters(),
        "anomalies": model.anomalies(),
        "due steps": sorted(model.due_steps),
        "done steps": sorted(model.done_steps),
    }


def differences(actual: Any, expected: Any) -> str:
    """Of tables, only the rows that differ."""
    if not isinstance(actual, dict):
        return f"{actual} is not {expected}"
    parts = []
    for key in sorted({**actual, **expected}):
        row = actual.get(key)
        expected_row = expected.get(key)
        if row != expected_row:
            parts.append(f"{key}: {row} is not {expected_row}")
    return "; ".join(parts)
