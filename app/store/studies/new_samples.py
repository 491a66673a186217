"""Insert samples and the jobs that evaluate them, a whole step at a time."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, insert, select, update

from app.domain.samples import Coordinate, NewSample
from app.domain.studies import CoObjectives
from app.store.sql.bulk import bulk_insert, bulk_update, from_json
from app.store.sql.clock import database_now
from app.store.tables import jobs, objectives, samples, studies
from counterpoise.wire.codes import JobState

NO_WAITING_RUNS: Mapping[int, Collection[int]] = MappingProxyType({})


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
    connection.execute(
        _COUNT_PLANNED if is_planned else _COUNT_IMPORTED,
        {"study": study, "more": full},
    )
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
_COUNT_PLANNED, _COUNT_IMPORTED = (
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
    waiting: Mapping[int, Collection[int]] = NO_WAITING_RUNS,
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
