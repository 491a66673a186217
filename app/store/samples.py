"""Samples and the jobs that evaluate them, added a whole step at a time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from app.store.among import among
from app.store.clock import database_now
from app.store.tables import jobs, objectives, sample_values, samples, steps, studies


@dataclass(frozen=True, slots=True)
class NewSample:
    """One point x and the objectives (ids, those with jobs of their own) that it is wanted on."""

    x: Sequence[float]
    objectives: tuple[int, ...]
    full: bool


def add_samples(
    connection: Connection,
    study: int,
    wanted: Sequence[NewSample],
    *,
    also: Mapping[int, Sequence[int]] | None = None,
    step: int | None = None,
    number: int = 0,
) -> list[int]:
    """Store samples with their ready jobs and count both; a constant number of statements. Locks the study first.

    `also`: the objectives that come with each objective's run. `number`: of the search step that asks.
    """
    if not wanted:
        return []
    guests = also or {}
    full = sum(sample.full for sample in wanted)
    connection.execute(update(studies).where(studies.c.id == study).values(planned_full=studies.c.planned_full + full))
    shared = {"study_id": study, "step_id": step}
    ids = list(
        connection.scalars(
            insert(samples).values(created_at=database_now()).returning(samples.c.id, sort_by_parameter_order=True),
            [
                {
                    **shared,
                    "x": list(sample.x),
                    "full": sample.full,
                    "open": sum(1 + len(guests.get(objective, ())) for objective in sample.objectives),
                }
                for sample in wanted
            ],
        )
    )
    rows = [
        {"study_id": study, "objective_id": objective, "sample_id": id_, "cheap_only": not sample.full, "step": number}
        for id_, sample in zip(ids, wanted, strict=True)
        for objective in sample.objectives
    ]
    connection.execute(insert(jobs), rows)
    created = Counter(row["objective_id"] for row in rows)
    opened = Counter(row["objective_id"] for row in rows if not row["cheap_only"])
    for objective in list(created):
        created.update(dict.fromkeys(guests.get(objective, ()), created[objective]))
    connection.execute(
        update(objectives)
        .where(objectives.c.id == bindparam("objective"))
        .values(
            created=objectives.c.created + bindparam("more"), open_full=objectives.c.open_full + bindparam("more_full")
        ),
        [{"objective": o, "more": created[o], "more_full": opened[o]} for o in sorted(created)],
    )
    return ids


def give_up(connection: Connection, study: int, ids: Sequence[int]) -> None:
    """These full samples will not be evaluated on all objectives: they leave the plan."""
    if not ids:
        return
    wanted = (among(samples.c.id, "ids", ids), samples.c.full, ~samples.c.given_up)
    gone = connection.execute(update(samples).where(*wanted).values(given_up=True)).rowcount
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
    """A sample, and the step that asked for it (None: imported)."""

    id: int
    x: list[float]
    full: bool
    kind: str | None
    number: int | None
    objective: int | None


def samples_of(connection: Connection, study: int) -> list[Origin]:
    query = (
        select(samples.c.id, samples.c.x, samples.c.full, steps.c.kind, steps.c.number, steps.c.objective)
        .outerjoin(steps, steps.c.id == samples.c.step_id)
        .where(samples.c.study_id == study)
        .order_by(samples.c.id)
    )
    return [Origin(r.id, r.x, r.full, r.kind, r.number, r.objective) for r in connection.execute(query)]


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
