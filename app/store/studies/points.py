"""What a study knows about given points."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from app.domain.changes import JobRow
from app.store.sql.in_array import among
from app.store.studies.listings import values_of
from app.store.studies.samples import point_of
from app.store.tables import jobs, samples
from app.store.work.row_locks import job_row

Point = tuple[float, ...]


def samples_at(connection: Connection, study: int, points: Sequence[Point]) -> dict[Point, list[Row[Any]]]:
    """The samples at each of these points, oldest first; a point without any is left out."""
    wanted = set(points)
    found: dict[Point, list[Row[Any]]] = {}
    rows = connection.execute(SAMPLES_AT, {"study": study, "points": sorted({point_of(point) for point in points})})
    for row in sorted(rows, key=lambda row: row.id):
        if (point := tuple(row.x)) in wanted:
            found.setdefault(point, []).append(row)
    return found


SAMPLES_AT = select(samples).where(samples.c.study_id == bindparam("study"), among(samples.c.point, "points"))


def outcomes_of(connection: Connection, ids: Sequence[int]) -> dict[int, dict[int, float | str]]:
    """By sample and objective: the value, or how the last evaluation failed for good."""
    found: dict[int, dict[int, float | str]] = {}
    for one in values_of(connection, ids):
        known = one["failure"] if one["value"] is None else one["value"]
        found.setdefault(one["sample_id"], {})[one["objective_id"]] = known
    return found


def jobs_at(connection: Connection, ids: Sequence[int], *, lock: bool) -> dict[int, list[JobRow]]:
    """The jobs of these samples."""
    found: dict[int, list[JobRow]] = {}
    query = select(jobs).where(among(jobs.c.sample_id, "ids", ids)).order_by(jobs.c.id)
    for row in connection.execute(query.with_for_update() if lock else query):
        found.setdefault(row.sample_id, []).append(job_row(row))
    return found
