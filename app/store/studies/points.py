"""Samples at given points, with their outcomes and jobs."""

import json
from collections.abc import Collection, Sequence
from hashlib import blake2b

from sqlalchemy import Connection, bindparam, null, select

from app.domain.jobs import Job
from app.domain.samples import Coordinate, Point, Sample
from app.store.records import job_from_row, sample_from_row
from app.store.sql.in_array import in_array
from app.store.studies.evaluations import evaluations_of
from app.store.tables import jobs, samples
from app.store.work.row_locks import SELECT_JOBS
from counterpoise.wire.codes import FailureKind


def point_hash(x: Sequence[Coordinate]) -> str:
    """A hash that is the same for equal points: 3 is 3.0, and 0 is -0."""
    coordinates = [
        coordinate if isinstance(coordinate, str | bool) else float(coordinate) + 0.0
        for coordinate in x
    ]
    return blake2b(json.dumps(coordinates).encode(), digest_size=8).hexdigest()


def samples_at_points(
    connection: Connection, study: int, points: Collection[Point]
) -> dict[Point, list[Sample]]:
    """The samples at each of these points, oldest first; a point without any is left
    out.
    """
    wanted = set(points)
    found: dict[Point, list[Sample]] = {}
    rows = connection.execute(
        SAMPLES_AT,
        {"study": study, "points": sorted({point_hash(point) for point in points})},
    )
    for row in sorted(rows, key=lambda row: row.id):
        point = tuple(row.x)
        if point in wanted:
            found.setdefault(point, []).append(sample_from_row(row))
    return found


# Without the steps that proposed them: no query on points reads all steps.
SAMPLES_AT = select(
    samples.c.id,
    samples.c.x,
    samples.c.full,
    samples.c.open,
    samples.c.given_up,
    samples.c.infeasible,
    samples.c.imported_seq,
    samples.c.excluded,
    null().label("kind"),
    null().label("promoted_in"),
).where(samples.c.study_id == bindparam("study"), in_array(samples.c.point, "points"))


def known_outcomes(
    connection: Connection, ids: Collection[int]
) -> dict[int, dict[int, float | FailureKind]]:
    """By sample and objective: the value, or how the last evaluation failed for good."""
    found: dict[int, dict[int, float | FailureKind]] = {}
    for evaluation in evaluations_of(connection, ids):
        outcome = evaluation.failure if evaluation.value is None else evaluation.value
        assert outcome is not None  # noqa: S101  (a check constraint of the table)
        found.setdefault(evaluation.sample, {})[evaluation.objective] = outcome
    return found


def jobs_of_samples(
    connection: Connection, ids: Collection[int], *, lock: bool
) -> dict[int, list[Job]]:
    """The jobs of each of these samples."""
    found: dict[int, list[Job]] = {}
    query = SELECT_JOBS.where(in_array(jobs.c.sample_id, "ids", ids)).order_by(
        jobs.c.id
    )
    for row in connection.execute(query.with_for_update(of=jobs) if lock else query):
        found.setdefault(row.sample_id, []).append(job_from_row(row))
    return found
