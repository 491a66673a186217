"""Samples and the jobs that evaluate them, added a whole step at a time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, select, update

from app.store.clock import database_now
from app.store.tables import jobs, objectives, sample_values, samples, studies


@dataclass(frozen=True, slots=True)
class NewSample:
    """One point x and the objectives (ids) that it is wanted on; `open` also counts those that come with a run."""

    x: Sequence[float]
    objectives: tuple[int, ...]
    full: bool
    open: int


def add_samples(connection: Connection, study: int, wanted: Sequence[NewSample], step: int | None = None) -> list[int]:
    """Store samples with their ready jobs and count both; a constant number of statements. Locks the study first."""
    if not wanted:
        return []
    full = sum(sample.full for sample in wanted)
    connection.execute(update(studies).where(studies.c.id == study).values(planned_full=studies.c.planned_full + full))
    shared = {"study_id": study, "step_id": step}
    ids = list(
        connection.scalars(
            insert(samples).values(created_at=database_now()).returning(samples.c.id, sort_by_parameter_order=True),
            [{**shared, "x": list(sample.x), "full": sample.full, "open": sample.open} for sample in wanted],
        )
    )
    rows = [
        {"study_id": study, "objective_id": objective, "sample_id": id_, "cheap_only": not sample.full}
        for id_, sample in zip(ids, wanted, strict=True)
        for objective in sample.objectives
    ]
    connection.execute(insert(jobs), rows)
    created = Counter(row["objective_id"] for row in rows)
    opened = Counter(row["objective_id"] for row in rows if not row["cheap_only"])
    connection.execute(
        update(objectives)
        .where(objectives.c.id == bindparam("objective"))
        .values(
            created=objectives.c.created + bindparam("more"), open_full=objectives.c.open_full + bindparam("more_full")
        ),
        [{"objective": o, "more": created[o], "more_full": opened[o]} for o in sorted(created)],
    )
    return ids


@dataclass(frozen=True, slots=True)
class Learnt:
    """A value of a sample's objective, or why there is none."""

    sample: int
    x: list[float]
    objective: str
    value: float | None
    failure: str | None


def values_in_order(connection: Connection, study: int) -> list[Learnt]:
    """What the study learnt, in the order of its sequence."""
    query = (
        select(samples.c.id, samples.c.x, objectives.c.name, sample_values.c.value, sample_values.c.failure)
        .join(samples, samples.c.id == sample_values.c.sample_id)
        .join(objectives, objectives.c.id == sample_values.c.objective_id)
        .where(sample_values.c.study_id == study)
        .order_by(sample_values.c.seq)
    )
    rows = connection.execute(query)
    return [Learnt(row.id, row.x, row.name, row.value, row.failure) for row in rows]
