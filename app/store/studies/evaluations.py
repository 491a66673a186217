"""Queries for what was evaluated: values, final failures and durations."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, func, literal, select, union_all

from app.domain.samples import Evaluation
from app.store.records import evaluation_from_row
from app.store.sql.in_array import in_array
from app.store.tables import objectives, sample_values, samples


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
