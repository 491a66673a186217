"""A study again, in this process: the same specification and the recorded order of
tells, on an empty database.
"""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from threadpoolctl import threadpool_limits

from app.planner.planner import claim_due_step
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.studies.lifecycle import create
from app.service.work.ask import serve_asks
from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import objectives, sample_values, samples, steps, studies
from counterpoise.wire.codes import StepState
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.work import Ask, Job, Tell

# Kind, objective, number
StepKey = tuple[str, int, int]
# Kind, objective, number of its step; full; x
Sample = tuple[str, int, int, bool, tuple[float, ...]]
# Sample, objective, value, also, duration
RecordedTell = tuple[Sample, str, float, dict[str, float], float]


@dataclass(frozen=True, slots=True)
class Recording:
    """What happened to a study: its tells, in the order of its sequence, and the steps
    that were executed.

    A late planner omits generations of streams that are due when search begins.
    """

    tells: list[RecordedTell]
    steps: frozenset[StepKey]


def proposals(database: Database, study: str | None = None) -> Counter[Sample]:
    """How often each sample was proposed: once, if all is well."""
    with database.read() as connection:
        return Counter(_samples(connection, study).values())


def recording(database: Database, study: str | None = None) -> Recording:
    with database.read() as connection:
        found = _samples(connection, study)
        rows = {row.id: row for row in connection.execute(select(objectives))}
        query = select(sample_values).order_by(sample_values.c.seq)
        values = [one for one in connection.execute(query) if one.sample_id in found]
        executed = _executed_steps(connection, study)
    also: dict[tuple[int, int], dict[str, float]] = {}
    for one in values:
        objective = rows[one.objective_id]
        if objective.same_run_as is not None:
            run = (one.sample_id, objective.same_run_as)
            also.setdefault(run, {})[objective.name] = one.value
    tells: list[RecordedTell] = []
    for one in values:
        if rows[one.objective_id].same_run_as is not None:
            continue
        others = also.get((one.sample_id, one.objective_id), {})
        name = rows[one.objective_id].name
        tells.append((found[one.sample_id], name, one.value, others, one.duration_s))
    return Recording(tells, executed)


def _executed_steps(connection: Any, study: str | None) -> frozenset[StepKey]:
    query = (
        select(steps.c.kind, steps.c.objective, steps.c.number)
        .join(studies, studies.c.id == steps.c.study_id)
        .where(steps.c.state == StepState.DONE)
    )
    if study is not None:
        query = query.where(studies.c.name == study)
    return frozenset(tuple(row) for row in connection.execute(query))


def _samples(connection: Any, study: str | None = None) -> dict[int, Sample]:
    query = (
        select(samples, steps.c.kind, steps.c.objective, steps.c.number)
        .join(steps, steps.c.id == samples.c.step_id)
        .join(studies, studies.c.id == samples.c.study_id)
    )
    if study is not None:
        query = query.where(studies.c.name == study)
    return {
        row.id: (row.kind, row.objective, row.number, row.full, tuple(row.x))
        for row in connection.execute(query)
    }


def replay(database: Database, spec: dict[str, Any], recorded: Recording) -> None:
    """Recorded steps are planned as soon as they are due, and jobs leased as soon as
    they are there.
    """
    held: dict[tuple[Sample, str], Job] = {}
    with threadpool_limits(1):
        create(database, parse_specification(spec), 60.0)
        _go_on(database, recorded.steps, held)
        for sample, objective, value, also, duration in recorded.tells:
            job = held[sample, objective]
            said = Tell(
                job=job.job,
                lease=job.lease,
                value=value,
                also=also,
                duration_s=duration,
            )
            assert tell(database, [said])[0].status == 200
            _go_on(database, recorded.steps, held)


def _go_on(
    database: Database, recorded: Set[StepKey], held: dict[tuple[Sample, str], Job]
) -> None:
    ask = Ask(worker="replay", studies=["*"], objectives=["*"], max_jobs=256)
    planned = _plan(database, recorded)
    while planned:
        (jobs,) = serve_asks(database, [ask], 20.0)
        with database.read() as connection:
            found = _samples(connection)
        held.update({(found[job.sample], job.objective): job for job in jobs})
        planned = bool(jobs)


def _plan(database: Database, recorded: Set[StepKey]) -> bool:
    """Execute the due steps that were recorded; the others stay claimed, as by a planner
    that is late.
    """
    is_planned = False
    while (step := claim_due_step(database)) is not None:
        if (step.kind, step.objective, step.number) in recorded:
            is_planned |= commit_step(database, step, compute_step(database, step))
    return is_planned
