"""Samples and the jobs that evaluate them, added a whole step at a time; and what is
known of them.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    Select,
    bindparam,
    case,
    func,
    insert,
    literal,
    select,
    union_all,
    update,
)

from app.domain.samples import Coordinate, Evaluation, NewSample, Sample
from app.domain.studies import CoObjectives
from app.store.records import evaluation_from_row, sample_from_row
from app.store.sql.bulk import bulk_insert, bulk_update, from_json
from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.tables import jobs, objectives, sample_values, samples, steps, studies
from counterpoise.wire.codes import JobState, StepKind

NOTHING_WAITS: Mapping[int, Collection[int]] = MappingProxyType({})


def point_hash(x: Sequence[Coordinate]) -> str:
    """The same for equal points: 3 is 3.0, and 0 is -0."""
    coordinates = [
        coordinate if isinstance(coordinate, str | bool) else float(coordinate) + 0.0
        for coordinate in x
    ]
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
    in_budget: bool = False,
    waiting: Collection[int] = (),
) -> list[int]:
    """Store samples with their ready jobs and count both, in a constant number of
    statements. Locks the study first.

    `step` and `number`: id of the step that proposes them, and its number if it is a
    search step. `imported_seq`: they are imported, and no part of the plan, unless
    they are `in_budget`. `waiting`:
    objectives whose jobs of full samples wait for the cheap runs. Returns their ids.
    """
    if not wanted:
        return []
    full = sum(sample.full for sample in wanted)
    is_planned = imported_seq is None or in_budget
    connection.execute(_PLAN if is_planned else _IMPORT, {"study": study, "more": full})
    shared = {
        "study_id": study,
        "step_id": step,
        "imported_seq": imported_seq,
        "in_budget": in_budget,
    }
    ids = _insert(
        connection,
        [shared | _sample_row(sample, co_objectives, waiting) for sample in wanted],
    )
    rows = []
    for id_, sample in zip(ids, wanted, strict=True):
        shared = {
            "study_id": study,
            "sample_id": id_,
            "cheap_only": not sample.full,
            "step": number,
        }
        for objective in sample.objectives:
            waits = sample.full and objective in waiting
            state = JobState.WAITING if waits else JobState.READY
            rows.append({**shared, "objective_id": objective, "state": state})
    _add_jobs(connection, rows, co_objectives)
    return ids


def _sample_row(
    sample: NewSample, co_objectives: CoObjectives, waiting: Collection[int]
) -> dict[str, Any]:
    waiting_runs = [run for run in sample.objectives if sample.full and run in waiting]
    return {
        "waiting": outputs_of(waiting_runs, co_objectives),
        "x": list(sample.x),
        "point": point_hash(sample.x),
        "full": sample.full,
        "open": outputs_of(sample.objectives, co_objectives),
    }


def outputs_of(runs: Sequence[int], co_objectives: CoObjectives) -> int:
    """How many outputs these runs have."""
    return sum(1 + len(co_objectives.get(run, ())) for run in runs)


def _insert(connection: Connection, rows: list[dict[str, Any]]) -> list[int]:
    """The new samples' ids, in the order of the rows."""
    if connection.dialect.name == "postgresql":
        numbered = [{"n": number, **row} for number, row in enumerate(rows)]
        return sorted(connection.scalars(_INSERT_POSTGRESQL, {"rows": numbered}))
    return list(connection.scalars(_INSERT_SQLITE, rows))


_NAMES = (
    "study_id",
    "step_id",
    "imported_seq",
    "in_budget",
    "x",
    "point",
    "full",
    "open",
    "waiting",
)
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
    *,
    number: int = 0,
    cheap_only: bool = False,
    ruled_out: Collection[int] = (),
    waiting: Mapping[int, Collection[int]] = NOTHING_WAITS,
) -> None:
    """Ready jobs of existing samples: sample -> objectives.

    `number`: that of the search step that wants them. `ruled_out`: samples whose jobs
    are superseded from the beginning. `waiting`: sample -> objectives whose jobs wait.
    """
    opened = [
        {
            "sample": sample,
            "opened": outputs_of(runs, co_objectives),
            "held_back": outputs_of(list(waiting.get(sample, ())), co_objectives),
        }
        for sample, runs in sorted(wanted.items())
        if sample not in ruled_out
    ]
    _OPEN_SAMPLE.execute(connection, opened)
    rows: list[dict[str, Any]] = []
    for sample, runs in wanted.items():
        shared: dict[str, Any] = {
            "study_id": study,
            "sample_id": sample,
            "cheap_only": cheap_only,
            "step": number,
            "state": JobState.SUPERSEDED if sample in ruled_out else JobState.READY,
        }
        waiting_runs = waiting.get(sample, ())
        for run in runs:
            state = {"state": JobState.WAITING} if run in waiting_runs else {}
            rows.append(shared | {"objective_id": run} | state)
    _add_jobs(connection, rows, co_objectives)


_OPEN_SAMPLE = bulk_update(
    {"sample": samples.c.id.type, "opened": Integer(), "held_back": Integer()},
    lambda given: (
        update(samples)
        .where(samples.c.id == given["sample"])
        .values(
            open=samples.c.open + given["opened"],
            waiting=samples.c.waiting + given["held_back"],
        )
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
    waiting = Counter(
        row["objective_id"] for row in rows if row["state"] is JobState.WAITING
    )
    superseded = Counter(
        row["objective_id"] for row in rows if row["state"] is JobState.SUPERSEDED
    )
    for objective in list(created):
        for co_objective in co_objectives.get(objective, ()):
            created[co_objective] += created[objective]
            superseded[co_objective] += superseded[objective]
    counts = [
        {
            "objective": objective,
            "more": created[objective],
            "more_full": created_full[objective],
            "more_waiting": waiting[objective],
            "more_superseded": superseded[objective],
        }
        for objective in sorted(created)
    ]
    _COUNT_JOBS.execute(connection, counts)


_INSERT_JOBS = bulk_insert(
    jobs, ("study_id", "objective_id", "sample_id", "cheap_only", "step", "state"), {}
)
_COUNT_JOBS = bulk_update(
    {
        "objective": objectives.c.id.type,
        "more": Integer(),
        "more_full": Integer(),
        "more_waiting": Integer(),
        "more_superseded": Integer(),
    },
    lambda given: (
        update(objectives)
        .where(objectives.c.id == given["objective"])
        .values(
            created=objectives.c.created + given["more"],
            open_full=objectives.c.open_full + given["more_full"],
            waiting=objectives.c.waiting + given["more_waiting"],
            superseded=objectives.c.superseded + given["more_superseded"],
        )
    ),
)


_promotion = steps.alias("promotion")
SELECT_SAMPLES: Select[Any] = select(
    samples.c.id,
    samples.c.x,
    samples.c.full,
    samples.c.open,
    samples.c.given_up,
    samples.c.infeasible,
    samples.c.imported_seq,
    samples.c.excluded,
    steps.c.kind,
    steps.c.number,
    steps.c.objective,
    _promotion.c.number.label("promoted_in"),
)
SELECT_SAMPLES = SELECT_SAMPLES.outerjoin(
    steps, steps.c.id == samples.c.step_id
).outerjoin(_promotion, _promotion.c.id == samples.c.promoted_by)


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


def samples_at(connection: Connection, ids: Collection[int]) -> list[Sample]:
    query = SELECT_SAMPLES.where(in_array(samples.c.id, "ids", ids))
    rows = connection.execute(query.order_by(samples.c.id))
    return [sample_from_row(row) for row in rows]


def page_of_full_values(
    connection: Connection, study: int, after: int, limit: int
) -> dict[int, dict[str, float]]:
    """The values of full samples that are not excluded, by output: of at most `limit`
    samples beyond `after`, also of those without any value.
    """
    page = (
        select(samples.c.id)
        .where(samples.c.study_id == study, samples.c.id > after)
        .where(samples.c.full, ~samples.c.excluded)
        .order_by(samples.c.id)
        .limit(limit)
    )
    ids = connection.execute(page).scalars()
    found: dict[int, dict[str, float]] = {sample: {} for sample in ids}
    v = sample_values.c
    query = (
        select(v.sample_id, objectives.c.name, v.value)
        .join(objectives, objectives.c.id == v.objective_id)
        .where(in_array(v.sample_id, "ids", found), v.value.is_not(None))
    )
    for sample, output, value in connection.execute(query):
        found[sample][output] = value
    return found


def unsettled_full_samples(connection: Connection, study: int) -> list[int]:
    """Full samples that are not settled on all outputs; as many rows as there are."""
    query = select(samples.c.id).where(
        samples.c.study_id == study, samples.c.full, samples.c.open > 0
    )
    return list(connection.execute(query.order_by(samples.c.id)).scalars())


def find_sample(connection: Connection, sample: int) -> Sample:
    return sample_from_row(
        connection.execute(SELECT_SAMPLES.where(samples.c.id == sample)).one()
    )


# Jobs of the initial phase have the number 0, whatever generation they are of.
_proposed_in = case((steps.c.kind == StepKind.SEARCH, steps.c.number), else_=0)


def points_of(
    connection: Connection, ids: Collection[int]
) -> dict[int, list[Coordinate]]:
    query = select(samples.c.id, samples.c.x).where(in_array(samples.c.id, "ids", ids))
    return {row.id: row.x for row in connection.execute(query)}


def samples_proposed_by(
    connection: Connection, step: int, of_others: Collection[tuple[int, int]]
) -> list[NewSample]:
    """The new samples of a step, in its order, as they were before any promotion.

    `of_others`: (sample, objective) of jobs that other steps have added.
    """
    was_full = samples.c.full & samples.c.promoted_by.is_(None)
    # A promotion adds jobs with a number of its own.
    is_of_proposal = samples.c.promoted_by.is_(None) | (jobs.c.step == _proposed_in)
    query = (
        select(samples.c.id, samples.c.x, was_full.label("full"), jobs.c.objective_id)
        .join(jobs, jobs.c.sample_id == samples.c.id)
        .join(steps, steps.c.id == samples.c.step_id)
        .where(samples.c.step_id == step, is_of_proposal)
        .order_by(samples.c.id, jobs.c.objective_id)
    )
    objectives_of: dict[int, list[int]] = {}
    points: dict[int, tuple[list[float], bool]] = {}
    for row in connection.execute(query):
        if (row.id, row.objective_id) not in of_others:
            objectives_of.setdefault(row.id, []).append(row.objective_id)
            points[row.id] = (row.x, row.full)
    return [
        NewSample(x, tuple(objectives_of[sample]), full)
        for sample, (x, full) in points.items()
    ]


def wanted_outputs(connection: Connection, study: int) -> list[tuple[int, int, int]]:
    """(sample, objective, number of the search step that wanted it) of every job."""
    query = (
        select(jobs.c.sample_id, jobs.c.objective_id, jobs.c.step)
        .where(jobs.c.study_id == study)
        .order_by(jobs.c.id)
    )
    return [
        (row.sample_id, row.objective_id, row.step) for row in connection.execute(query)
    ]


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


def count_evaluations(
    connection: Connection, objective: int, seq: int
) -> tuple[int, float]:
    """How many values of an objective a prefix of the sequence has, and how long they
    took in all.
    """
    v = sample_values.c
    query = select(
        func.count(v.value), func.coalesce(func.sum(v.duration_s), 0.0)
    ).where(v.objective_id == objective, v.seq <= seq)
    count, seconds = connection.execute(query).one()
    return count, float(seconds)


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
