"""Insert samples with the jobs that evaluate them, a whole step at a time."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, insert, select, update

from app.domain.samples import NewSample
from app.domain.studies import CoObjectives
from app.store.sql.bulk import from_json
from app.store.sql.clock import database_now
from app.store.studies.new_jobs import insert_jobs, outputs_of
from app.store.studies.points import point_hash
from app.store.tables import samples, studies
from counterpoise.wire.codes import JobState


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
    they are `in_budget`. `waiting`: objectives whose jobs of full samples wait for the
    cheap runs. Returns their ids.
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
    insert_jobs(connection, rows, co_objectives)
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
