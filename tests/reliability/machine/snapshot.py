"""A study as the database has it and as the model has it, in one form that can be compared."""

from typing import Any

from tests.reliability.machine.tables import StudyTables
from tests.reliability.model.records import LogEntry, StepId
from tests.reliability.model.study import StudyModel

Snapshot = dict[str, Any]


def step_id(step: Any) -> StepId:
    return StepId(step.kind, step.objective, step.number)


def database_snapshot(tables: StudyTables) -> Snapshot:
    study = tables.study
    names = {row.id: row.name for row in tables.objectives}
    steps_by_state: dict[str, list[StepId]] = {"due": [], "done": []}
    for row in tables.steps:
        steps_by_state[row.state].append(step_id(row))
    return {
        "study": (study.phase, study.state, study.budget, study.step, study.planned_full, study.settled_full),
        "ending": (study.ending == "stopped", study.cancel_running),
        "imported": (study.imported, study.imported_complete),
        "samples": {row.id: (row.full, row.given_up, row.imported_seq is not None, row.open) for row in tables.samples},
        "jobs": {row.id: _job_row(row, names) for row in tables.jobs},
        "attempts": {row.lease: _attempt_row(row) for row in tables.attempts},
        "log": _log(tables, names),
        "counters": {
            row.name: (row.created, row.done, row.failed, row.superseded, row.open_full) for row in tables.objectives
        },
        "anomalies": {row.name: (row.expired, row.late, row.duplicate) for row in tables.objectives},
        "due steps": sorted(steps_by_state["due"]),
        "done steps": sorted(steps_by_state["done"]),
    }


def _job_row(row: Any, names: dict[int, str]) -> tuple[Any, ...]:
    origin = (row.sample_id, names[row.objective_id], row.cheap_only, row.step)
    counts = (row.attempts, row.errors, row.losses)
    return (*origin, row.state, row.lease, *counts, row.ready_at is not None)


def _attempt_row(row: Any) -> tuple[Any, ...]:
    also = (row.details or {}).get("also", {})
    return (row.job_id, row.number, row.outcome, row.value, row.failure, also)


def _log(tables: StudyTables, names: dict[int, str]) -> list[LogEntry]:
    value_at = {row.seq: row for row in tables.values}
    log = []
    for event in tables.events:
        value = value_at.get(event.seq)
        if value is None:
            log.append(LogEntry(event.kind))
        else:
            log.append(
                LogEntry(event.kind, value.sample_id, names[value.objective_id], value.value, value.failure),
            )
    return log


def model_snapshot(model: StudyModel) -> Snapshot:
    state = "active" if model.active else "paused"
    planned = len(model.planned_full)
    settled = len(model.settled_full)
    return {
        "study": (model.phase, state, model.budget, model.step, planned, settled),
        "ending": (model.stopped, model.cancel_running),
        "imported": (sum(sample.imported for sample in model.samples.values()), model.imported_complete),
        "samples": {
            number: (sample.full, sample.given_up, sample.imported, model.open_outputs(number))
            for number, sample in model.samples.items()
        },
        "jobs": {
            number: (
                *(job.sample, job.objective, job.cheap_only, job.step),
                *(job.state, job.lease, job.attempts, job.errors, job.losses, job.backs_off),
            )
            for number, job in model.jobs.items()
        },
        "attempts": {
            lease: (attempt.job, attempt.number, attempt.outcome, attempt.value, attempt.failure, attempt.also)
            for lease, attempt in model.attempts.items()
        },
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
    keys = sorted(key for key in {**actual, **expected} if actual.get(key) != expected.get(key))
    return "; ".join(f"{key}: {actual.get(key)} is not {expected.get(key)}" for key in keys)
