"""Lists of what a study has, page by page, in the user's terms."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping

from app.domain.step_names import step_name
from app.domain.timestamps import iso
from app.errors import ObjectiveUnknown
from app.service.studies.lifecycle import find
from app.store.database import Database
from app.store.studies.listings import attempts_of, last_workers, page_of_jobs, page_of_samples, values_of
from app.store.studies.steps import steps_of
from app.store.studies.studies import objectives_of
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.views import AttemptView, FrontItem, JobView, SampleView, StepView

AT_ONCE = 10_000
TOLD = ("outcome", "value", "failure", "message", "duration_s", "details")


def list_samples(
    database: Database, name: str, after: int, limit: int, full: bool | None
) -> list[tuple[int, SampleView]]:
    with database.read() as connection:
        study = find(connection, name)
        rows = page_of_samples(connection, study.id, after, limit, full)
        return [(sample.sample, sample) for sample in _samples(connection, study, rows)]


def _samples(connection: Connection, study: Row[Any], rows: Sequence[RowMapping]) -> list[SampleView]:
    objectives = {row.id: row.name for row in objectives_of(connection, study.id)}
    names = [objective["name"] for objective in study.spec["objectives"]]
    variables = [variable["name"] for variable in study.spec["variables"]]
    values: dict[int, dict[str, float]] = {}
    failures: dict[int, dict[str, str]] = {}
    for one in values_of(connection, [row["id"] for row in rows]):
        objective = objectives[one["objective_id"]]
        if one["value"] is not None:
            values.setdefault(one["sample_id"], {})[objective] = one["value"]
            failures.get(one["sample_id"], {}).pop(objective, None)
        else:
            failures.setdefault(one["sample_id"], {})[objective] = one["failure"]
    return [
        SampleView(
            sample=row["id"],
            step=step_name(row["kind"], row["number"], row["objective"], names),
            full=row["full"],
            x=dict(zip(variables, row["x"], strict=True)),
            values=values.get(row["id"], {}),
            failures=failures.get(row["id"], {}),
            open=row["open"],
        )
        for row in rows
    ]


def list_jobs(
    database: Database, name: str, after: int, limit: int, objective: str | None, state: str | None
) -> list[tuple[int, JobView]]:
    with database.read() as connection:
        study = find(connection, name)
        objectives = {row.id: row.name for row in objectives_of(connection, study.id)}
        ids = {each: number for number, each in objectives.items()}
        if objective is not None and objective not in ids:
            raise ObjectiveUnknown(f"objective {objective!r} is not in study {name!r}{did_you_mean(objective, ids)}")
        wanted = ids[objective] if objective is not None else None
        rows = page_of_jobs(connection, study.id, after, limit, wanted, state)
        workers = last_workers(connection, [row["id"] for row in rows])
        values = {
            (one["sample_id"], one["objective_id"]): one["value"]
            for one in values_of(connection, [row["sample_id"] for row in rows])
            if one["value"] is not None
        }
    return [
        (
            row["id"],
            JobView(
                job=row["id"],
                sample=row["sample_id"],
                objective=objectives[row["objective_id"]],
                state=row["state"],
                value=values.get((row["sample_id"], row["objective_id"])),
                attempts=row["attempts"],
                cheap_only=row["cheap_only"],
                worker=workers.get(row["id"]),
                expires_at=iso(row["expires_at"]),
            ),
        )
        for row in rows
    ]


def list_attempts(database: Database, name: str, after: int, limit: int) -> list[tuple[int, AttemptView]]:
    """Of at most so many jobs, all attempts; a job without any is there once."""
    with database.read() as connection:
        study = find(connection, name)
        objectives = {row.id: row.name for row in objectives_of(connection, study.id)}
        rows = page_of_jobs(connection, study.id, after, limit, None, None)
        found: dict[int, list[dict[str, Any]]] = {}
        for one in attempts_of(connection, [row["id"] for row in rows]):
            found.setdefault(one["job_id"], []).append(dict(one))
    return [
        (row["id"], _attempt(row, objectives, one))
        for row in rows
        for one in found.get(row["id"], [dict.fromkeys(NO_ATTEMPT)])
    ]


NO_ATTEMPT = ("number", "worker", "leased_at", "ended_at", *TOLD)


def _attempt(job: RowMapping, objectives: dict[int, str], one: Mapping[str, Any]) -> AttemptView:
    return AttemptView(
        job=job["id"],
        sample=job["sample_id"],
        objective=objectives[job["objective_id"]],
        cheap_only=job["cheap_only"],
        state=job["state"],
        attempt=one["number"],
        worker=one["worker"],
        leased_at=iso(one["leased_at"]),
        ended_at=iso(one["ended_at"]),
        **{name: one[name] for name in TOLD},
    )


def list_steps(database: Database, name: str, after: int, limit: int) -> list[tuple[int, StepView]]:
    with database.read() as connection:
        study = find(connection, name)
        names = [objective["name"] for objective in study.spec["objectives"]]
        rows = steps_of(connection, study.id, after=after, limit=limit)
    return [
        (
            row.id,
            StepView(
                step=step_name(row.kind, row.number, row.objective, names) or "",
                kind=row.kind,
                objective=names[row.objective] if row.objective >= 0 else None,
                number=row.number,
                state=row.state,
                due_seq=row.due_seq,
                due_at=iso(row.due_at),
                done_at=iso(row.done_at),
                faults=row.faults,
                fault=row.fault,
                record=row.record,
            ),
        )
        for row in rows
    ]


def front(database: Database, name: str) -> list[FrontItem]:
    """The nondominated of all complete full samples."""
    best: list[SampleView] = []
    after = 0
    with database.read() as connection:
        study = find(connection, name)
        while rows := page_of_samples(connection, study.id, after, AT_ONCE, full=True):
            best = _nondominated(study.spec["objectives"], best + _samples(connection, study, rows))
            after = rows[-1]["id"]
    return [FrontItem(sample=one.sample, step=one.step, x=one.x, values=one.values) for one in best]


def _nondominated(objectives: Sequence[dict[str, Any]], samples: Sequence[SampleView]) -> list[SampleView]:
    complete = [one for one in samples if len(one.values) == len(objectives)]
    if not complete:
        return []
    import moocore  # here: a server starts faster without numerical libraries, and mostly needs none
    import numpy as np

    signs = [-1.0 if objective["direction"] == "maximize" else 1.0 for objective in objectives]
    F = np.array([[one.values[o["name"]] for o in objectives] for one in complete]) * signs  # (n, m)
    best = moocore.is_nondominated(F, keep_weakly=True)
    return [one for one, kept in zip(complete, best, strict=True) if kept]
