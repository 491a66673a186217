"""Queries for samples: by study, page, id and step."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Select, case, select

from app.domain.samples import Coordinate, NewSample, Sample
from app.store.records import sample_from_row
from app.store.sql.in_array import in_array
from app.store.tables import jobs, samples, steps
from counterpoise.wire.codes import StepKind

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


def samples_by_id(connection: Connection, ids: Collection[int]) -> list[Sample]:
    query = SELECT_SAMPLES.where(in_array(samples.c.id, "ids", ids))
    rows = connection.execute(query.order_by(samples.c.id))
    return [sample_from_row(row) for row in rows]


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
