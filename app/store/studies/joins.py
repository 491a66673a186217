"""Proposals that are samples of earlier steps: found when a step is committed, recorded
with it.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, func, select

from app.domain.planning.joining import Join, joins_of
from app.domain.samples import NewSample
from app.domain.steps import Step, StepId
from app.domain.studies import CoObjectives
from app.store.studies.new_jobs import add_jobs
from app.store.studies.points import jobs_of_samples, samples_at_points
from app.store.studies.samples import points_of, samples_proposed_by
from app.store.tables import samples, steps
from counterpoise.wire.codes import StepKind, StepState

RECORDED = "joined"  # the part of a step's record


def find_joins(
    connection: Connection,
    study: int,
    proposed: Sequence[NewSample],
    promoted: Collection[int],
) -> list[Join]:
    """The proposals that are existing samples; to be called under the study's lock."""
    existing = samples_at_points(
        connection, study, [tuple(sample.x) for sample in proposed]
    )
    if not existing:
        return []
    ids = [samples_here[0].id for samples_here in existing.values()]
    jobs = jobs_of_samples(connection, ids, lock=False)
    has_job = {}
    for sample, own in jobs.items():
        has_job[sample] = {job.objective for job in own}
    newest = select(func.max(samples.c.id)).where(samples.c.study_id == study)
    after = connection.execute(newest).scalar_one()
    return list(joins_of(proposed, existing, has_job, promoted, after))


def join_samples(
    connection: Connection,
    study: int,
    joins: Sequence[Join],
    co_objectives: CoObjectives,
    *,
    number: int,
) -> None:
    """Add the jobs that existing samples lack; `number`: of the search step."""
    wanted = {join.sample: join.runs for join in joins if join.runs}
    if not wanted:
        return
    add_jobs(
        connection,
        study,
        wanted,
        co_objectives,
        number=number,
        cheap_only=True,
        ruled_out={join.sample for join in joins if join.ruled_out},
    )


def recorded(joins: Sequence[Join]) -> dict[str, Any]:
    """The joins as a part of the step's record; empty without joins."""
    return {RECORDED: [asdict(join) for join in joins]} if joins else {}


def recorded_joins(connection: Connection, study: int) -> list[tuple[StepId, Join]]:
    """The joins of all executed steps of a study."""
    query = select(
        steps.c.id,
        steps.c.kind,
        steps.c.objective,
        steps.c.number,
        steps.c.record[RECORDED].label("joined"),
    ).where(steps.c.study_id == study, steps.c.state == StepState.DONE)
    found = []
    for row in connection.execute(query.order_by(steps.c.id)):
        identity = StepId(row.id, StepKind(row.kind), row.objective, row.number)
        joins = [Join.from_record(recorded) for recorded in row.joined or ()]
        found += [(identity, join) for join in joins]
    return found


def proposals_of(connection: Connection, step: Step) -> list[NewSample]:
    """The samples that a step proposed, in its order."""
    joins = recorded_joins(connection, step.study)
    of_others = set()
    for other, join in joins:
        if other.id != step.id:
            of_others |= {(join.sample, run) for run in join.runs}
    proposed = samples_proposed_by(connection, step.id, of_others)
    own = [join for other, join in joins if other.id == step.id]
    points = points_of(connection, [join.sample for join in own])
    for join in sorted(own, key=lambda join: join.position):
        known = NewSample(points[join.sample], join.objectives, join.full)
        proposed.insert(join.position, known)
    return proposed
