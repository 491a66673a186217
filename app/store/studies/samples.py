"""Samples and the jobs that evaluate them, added a whole step at a time; and what is
known of them.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    bindparam,
    insert,
    literal,
    select,
    union_all,
    update,
)

from app.domain.samples import Evaluation, NewSample, Sample
from app.domain.studies import CoObjectives
from app.store.records import evaluation_from_row, sample_from_row
from app.store.sql.bulk import bulk_insert, bulk_update, from_json
from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.tables import jobs, objectives, sample_values, samples, steps, studies


def point_hash(x: Sequence[float]) -> str:
    """The same for equal points: 3 is 3.0, and 0 is -0."""
    coordinates = [float(coordinate) + 0.0 for coordinate in x]
    return blake2b(json.dumps(coordinates).encode(), digest_size=8).hexdigest()


def add_samples(
    connection: Connection,
    study: int,
    wanted: Sequence[NewSample],
    co_objectives: CoObjectives,
    *,
    step: int | None = None,
    number: int = 0,
    imported_seq: int | None = None,
) -> list[int]:
    """Store samples with their ready jobs and count both, in a constant number of
    statements. Locks the study first.

    `step` and `number`: id of the step that proposes them, and its number if it is a
    search step. `imported_seq`: they are imported, and no part of the plan. Returns
    their ids.
    """
    if not wanted:
        return []
    full = sum(sample.full for sample in wanted)
    connection.execute(
        _PLAN if imported_seq is None else _IMPORT, {"study": study, "more": full}
    )
    shared = {"study_id": study, "step_id": step, "imported_seq": imported_seq}
    ids = _insert(
        connection, [shared | _sample_row(sample, co_objectives) for sample in wanted]
    )
    rows = []
    for id_, sample in zip(ids, wanted, strict=True):
        shared = {
            "study_id": study,
            "sample_id": id_,
            "cheap_only": not sample.full,
            "step": number,
        }
        rows += [
            shared | {"objective_id": objective} for objective in sample.objectives
        ]
    _add_jobs(connection, rows, co_objectives)
    return ids


def _sample_row(sample: NewSample, co_objectives: CoObjectives) -> dict[str, Any]:
    return {
        "x": list(sample.x),
        "point": point_hash(sample.x),
        "full": sample.full,
        "open": _outputs(sample.objectives, co_objectives),
    }


def _outputs(runs: Sequence[int], co_objectives: CoObjectives) -> int:
    """How many outputs these runs have."""
    return sum(1 + len(co_objectives.get(run, ())) for run in runs)


def _insert(connection: Connection, rows: list[dict[str, Any]]) -> list[int]:
    """The new samples' ids, in the order of the rows."""
    if connection.dialect.name == "postgresql":
        numbered = [{"n": number, **row} for number, row in enumerate(rows)]
        return sorted(connection.scalars(_INSERT_POSTGRESQL, {"rows": numbered}))
    return list(connection.scalars(_INSERT_SQLITE, rows))


_NAMES = ("study_id", "step_id", "imported_seq", "x", "point", "full", "open")
_given = from_json(
    {"n": Integer(), **{name: samples.c[name].type for name in _NAMES}}, "rows"
)
# PostgreSQL assigns ids in the order of such a SELECT.
_INSERT_POSTGRESQL = (
    insert(samples)
    .from_select(
        [*_NAMES, "created_at"],
        select(*(_given[name] for name in _NAMES), database_now()).order_by(
            _given["n"]
        ),
    )
    .returning(samples.c.id)
)
_INSERT_SQLITE = (
    insert(samples)
    .values(created_at=database_now())
    .returning(samples.c.id, sort_by_parameter_order=True)
)
_PLAN, _IMPORT = (
    update(studies)
    .where(studies.c.id == bindparam("study"))
    .values({counter: counter + bindparam("more")})
    for counter in (studies.c.planned_full, studies.c.imported)
)


def add_jobs(
    connection: Connection,
    study: int,
    wanted: Mapping[int, Sequence[int]],
    co_objectives: CoObjectives,
) -> None:
    """Ready jobs of existing full samples: sample -> objectives."""
    opened = [
        {"sample": sample, "opened": _outputs(runs, co_objectives)}
        for sample, runs in sorted(wanted.items())
    ]
    _OPEN_SAMPLE.execute(connection, opened)
    rows = []
    for sample, runs in wanted.items():
        shared = {
            "study_id": study,
            "sample_id": sample,
            "cheap_only": False,
            "step": 0,
        }
        rows += [shared | {"objective_id": run} for run in runs]
    _add_jobs(connection, rows, co_objectives)


_OPEN_SAMPLE = bulk_update(
    {"sample": samples.c.id.type, "opened": Integer()},
    lambda given: (
        update(samples)
        .where(samples.c.id == given["sample"])
        .values(open=samples.c.open + given["opened"])
    ),
)


def _add_jobs(
    connection: Connection,
    rows: Sequence[Mapping[str, Any]],
    co_objectives: CoObjectives,
) -> None:
    _INSERT_JOBS.execute(connection, rows)
    created = Counter(row["objective_id"] for row in rows)
    created_full = Counter(row["objective_id"] for row in rows if not row["cheap_only"])
    for objective in list(created):
        for co_objective in co_objectives.get(objective, ()):
            created[co_objective] += created[objective]
    counts = [
        {
            "objective": objective,
            "more": created[objective],
            "more_full": created_full[objective],
        }
        for objective in sorted(created)
    ]
    _COUNT_JOBS.execute(connection, counts)


_INSERT_JOBS = bulk_insert(
    jobs, ("study_id", "objective_id", "sample_id", "cheap_only", "step"), {}
)
_COUNT_JOBS = bulk_update(
    {"objective": objectives.c.id.type, "more": Integer(), "more_full": Integer()},
    lambda given: (
        update(objectives)
        .where(objectives.c.id == given["objective"])
        .values(
            created=objectives.c.created + given["more"],
            open_full=objectives.c.open_full + given["more_full"],
        )
    ),
)


SELECT_SAMPLES = select(
    samples.c.id,
    samples.c.x,
    samples.c.full,
    samples.c.open,
    samples.c.imported_seq,
    steps.c.kind,
    steps.c.number,
    steps.c.objective,
).outerjoin(steps, steps.c.id == samples.c.step_id)


def samples_of(connection: Connection, study: int) -> list[Sample]:
    query = SELECT_SAMPLES.where(samples.c.study_id == study).order_by(samples.c.id)
    return [sample_from_row(row) for row in connection.execute(query)]


def page_of_samples(
    connection: Connection, study: int, after: int, limit: int, full: bool | None = None
) -> list[Sample]:
    query = (
        SELECT_SAMPLES.where(samples.c.study_id == study, samples.c.id > after)
        .order_by(samples.c.id)
        .limit(limit)
    )
    if full is not None:
        query = query.where(samples.c.full == full)
    return [sample_from_row(row) for row in connection.execute(query)]


def find_sample(connection: Connection, sample: int) -> Sample:
    return sample_from_row(
        connection.execute(SELECT_SAMPLES.where(samples.c.id == sample)).one()
    )


def samples_proposed_by(connection: Connection, step: int) -> list[NewSample]:
    """What a step proposed, in its order."""
    query = (
        select(samples.c.id, samples.c.x, samples.c.full, jobs.c.objective_id)
        .join(jobs, jobs.c.sample_id == samples.c.id)
        .where(samples.c.step_id == step)
        .order_by(samples.c.id, jobs.c.objective_id)
    )
    objectives_of: dict[int, list[int]] = {}
    points: dict[int, tuple[list[float], bool]] = {}
    for row in connection.execute(query):
        objectives_of.setdefault(row.id, []).append(row.objective_id)
        points[row.id] = (row.x, row.full)
    return [
        NewSample(x, tuple(objectives_of[sample]), full)
        for sample, (x, full) in points.items()
    ]


def wanted_outputs(connection: Connection, study: int) -> list[tuple[int, int]]:
    """(sample, objective) of every job."""
    query = (
        select(jobs.c.sample_id, jobs.c.objective_id)
        .where(jobs.c.study_id == study)
        .order_by(jobs.c.id)
    )
    return [(row.sample_id, row.objective_id) for row in connection.execute(query)]


def evaluations_until(connection: Connection, study: int, seq: int) -> list[Evaluation]:
    """The values and final failures in a prefix of the study's sequence."""
    query = select(sample_values).where(
        sample_values.c.study_id == study, sample_values.c.seq <= seq
    )
    return [
        evaluation_from_row(row)
        for row in connection.execute(query.order_by(sample_values.c.seq))
    ]


def evaluations_of(connection: Connection, ids: Collection[int]) -> list[Evaluation]:
    """The values and final failures of these samples, in the order of the sequence."""
    query = select(sample_values).where(in_array(sample_values.c.sample_id, "ids", ids))
    return [
        evaluation_from_row(row)
        for row in connection.execute(query.order_by(sample_values.c.seq))
    ]


def last_durations(
    connection: Connection, runs: Sequence[int], count: int
) -> dict[int, list[float]]:
    """How long the latest evaluations of each of these objectives took, newest first;
    one query.
    """
    found: dict[int, list[float]] = {run: [] for run in runs}
    if not runs:
        return found
    v = sample_values.c
    parts = []
    for run in runs:
        newest = (
            select(literal(run, objectives.c.id.type).label("run"), v.duration_s)
            .where(v.objective_id == run, v.duration_s.is_not(None))
            .order_by(v.seq.desc())
            .limit(count)
        )
        parts.append(select(newest.subquery()))
    for row in connection.execute(union_all(*parts)):
        found[row.run].append(row.duration_s)
    return found
