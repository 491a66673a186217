"""Samples and the jobs that evaluate them, added a whole step at a time."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, Integer, RowMapping, bindparam, insert, select, update

from app.store.sql.bulk import from_json, insert_each, update_each
from app.store.sql.clock import database_now
from app.store.sql.in_array import among
from app.store.tables import jobs, objectives, sample_values, samples, steps, studies


@dataclass(frozen=True, slots=True)
class NewSample:
    """One point x and the objectives (ids, those with jobs of their own) that it is wanted on."""

    x: Sequence[float]
    objectives: tuple[int, ...]
    full: bool


def point_of(x: Sequence[float]) -> str:
    """The same for equal points: 3 is 3.0, and 0 is -0."""
    return blake2b(json.dumps([float(each) + 0.0 for each in x]).encode(), digest_size=8).hexdigest()


def add_samples(
    connection: Connection,
    study: int,
    wanted: Sequence[NewSample],
    *,
    also: Mapping[int, Sequence[int]] | None = None,
    step: int | None = None,
    number: int = 0,
    imported_seq: int | None = None,
) -> list[int]:
    """Store samples with their ready jobs and count both; a constant number of statements. Locks the study first.

    `also`: the objectives that come with each objective's run. `number`: of the search step that asks.
    `imported_seq`: they are known from elsewhere, and no part of the plan.
    """
    if not wanted:
        return []
    guests = also or {}
    full = sum(sample.full for sample in wanted)
    connection.execute(_PLAN if imported_seq is None else _IMPORT, {"study": study, "more": full})
    shared = {"study_id": study, "step_id": step, "imported_seq": imported_seq}
    ids = _insert(
        connection,
        [
            {
                **shared,
                "x": list(sample.x),
                "point": point_of(sample.x),
                "full": sample.full,
                "open": sum(1 + len(guests.get(objective, ())) for objective in sample.objectives),
            }
            for sample in wanted
        ],
    )
    rows = [
        {"study_id": study, "objective_id": objective, "sample_id": id_, "cheap_only": not sample.full, "step": number}
        for id_, sample in zip(ids, wanted, strict=True)
        for objective in sample.objectives
    ]
    _add_jobs(connection, rows, guests)
    return ids


def _insert(connection: Connection, rows: list[dict[str, Any]]) -> list[int]:
    """The new samples' ids, in the order of the rows."""
    if connection.dialect.name == "postgresql":
        numbered = [{"n": number, **row} for number, row in enumerate(rows)]
        return sorted(connection.scalars(_INSERT_POSTGRESQL, {"rows": numbered}))
    return list(connection.scalars(_INSERT_SQLITE, rows))


_NAMES = ("study_id", "step_id", "imported_seq", "x", "point", "full", "open")
_given = from_json({"n": Integer(), **{name: samples.c[name].type for name in _NAMES}}, "rows")
# PostgreSQL gives out ids in the order of such a SELECT.
_INSERT_POSTGRESQL = (
    insert(samples)
    .from_select(
        [*_NAMES, "created_at"], select(*(_given[name] for name in _NAMES), database_now()).order_by(_given["n"])
    )
    .returning(samples.c.id)
)
_INSERT_SQLITE = insert(samples).values(created_at=database_now()).returning(samples.c.id, sort_by_parameter_order=True)
_PLAN, _IMPORT = (
    update(studies).where(studies.c.id == bindparam("study")).values({counter: counter + bindparam("more")})
    for counter in (studies.c.planned_full, studies.c.imported)
)


def add_jobs(
    connection: Connection, study: int, wanted: Mapping[int, Sequence[int]], also: Mapping[int, Sequence[int]]
) -> None:
    """Ready jobs of full samples that are there already: sample -> objectives."""
    opened = {s: sum(1 + len(also.get(objective, ())) for objective in asked) for s, asked in wanted.items()}
    for more in sorted(set(opened.values())):
        alike = among(samples.c.id, "ids", [sample for sample, by in opened.items() if by == more])
        connection.execute(update(samples).where(alike).values(open=samples.c.open + more))
    shared = {"study_id": study, "cheap_only": False, "step": 0}
    rows = [{**shared, "sample_id": s, "objective_id": objective} for s, asked in wanted.items() for objective in asked]
    _add_jobs(connection, rows, also)


def _add_jobs(connection: Connection, rows: list[dict[str, int]], guests: Mapping[int, Sequence[int]]) -> None:
    if not rows:
        return
    _ADD_JOBS.execute(connection, rows)
    created = Counter(row["objective_id"] for row in rows)
    opened = Counter(row["objective_id"] for row in rows if not row["cheap_only"])
    for objective in list(created):
        created.update(dict.fromkeys(guests.get(objective, ()), created[objective]))
    _COUNT_JOBS.execute(
        connection, [{"one": each, "more": created[each], "more_full": opened[each]} for each in sorted(created)]
    )


_ADD_JOBS = insert_each(jobs, ("study_id", "objective_id", "sample_id", "cheap_only", "step"), {})
_COUNT_JOBS = update_each(
    {"one": objectives.c.id.type, "more": Integer(), "more_full": Integer()},
    lambda given: (
        update(objectives)
        .where(objectives.c.id == given["one"])
        .values(created=objectives.c.created + given["more"], open_full=objectives.c.open_full + given["more_full"])
    ),
)


def give_up(connection: Connection, study: int, ids: Sequence[int]) -> None:
    """These full samples will not be evaluated on all objectives: they leave the plan, if they are part of it."""
    if not ids:
        return
    planned = (samples.c.full, ~samples.c.given_up, samples.c.imported_seq.is_(None))
    statement = update(samples).where(among(samples.c.id, "ids", ids), *planned)
    gone = connection.execute(statement.values(given_up=True)).rowcount
    if gone:
        left = studies.c.planned_full - gone
        connection.execute(update(studies).where(studies.c.id == study).values(planned_full=left))


def last_durations(connection: Connection, objective: int, count: int) -> list[float]:
    """How long the latest evaluations of an objective took, newest first."""
    query = (
        select(sample_values.c.duration_s)
        .where(sample_values.c.objective_id == objective, sample_values.c.duration_s.is_not(None))
        .order_by(sample_values.c.seq.desc())
        .limit(count)
    )
    return list(connection.execute(query).scalars())


@dataclass(frozen=True, slots=True)
class Origin:
    """A sample, and the step that asked for it; none if it was imported, at a number of the study's sequence."""

    id: int
    x: list[float]
    full: bool
    kind: str | None
    number: int | None
    objective: int | None
    imported_seq: int | None


def samples_of(connection: Connection, study: int) -> list[Origin]:
    s = samples.c
    query = (
        select(s.id, s.x, s.full, steps.c.kind, steps.c.number, steps.c.objective, s.imported_seq)
        .outerjoin(steps, steps.c.id == samples.c.step_id)
        .where(samples.c.study_id == study)
        .order_by(samples.c.id)
    )
    return [Origin(*row) for row in connection.execute(query)]


def proposed_by(connection: Connection, step: int) -> list[NewSample]:
    """What a step proposed, in its order."""
    query = (
        select(samples.c.id, samples.c.x, samples.c.full, jobs.c.objective_id)
        .join(jobs, jobs.c.sample_id == samples.c.id)
        .where(samples.c.step_id == step)
        .order_by(samples.c.id, jobs.c.objective_id)
    )
    found: dict[int, list[RowMapping]] = {}
    for row in connection.execute(query).mappings():
        found.setdefault(row["id"], []).append(row)
    return [NewSample(rows[0]["x"], tuple(r["objective_id"] for r in rows), rows[0]["full"]) for rows in found.values()]


def jobs_of(connection: Connection, study: int) -> list[tuple[int, int]]:
    """Which samples are wanted on which objectives: (sample, objective)."""
    query = select(jobs.c.sample_id, jobs.c.objective_id).where(jobs.c.study_id == study).order_by(jobs.c.id)
    return [(row.sample_id, row.objective_id) for row in connection.execute(query)]


@dataclass(frozen=True, slots=True)
class Outcome:
    seq: int
    sample: int
    objective: int
    value: float | None
    failure: str | None


def outcomes_until(connection: Connection, study: int, seq: int) -> list[Outcome]:
    """The prefix of the study's sequence, values and failures for good."""
    v = sample_values.c
    query = select(v.seq, v.sample_id, v.objective_id, v.value, v.failure).where(v.study_id == study, v.seq <= seq)
    return [
        Outcome(row.seq, row.sample_id, row.objective_id, row.value, row.failure)
        for row in connection.execute(query.order_by(v.seq))
    ]
