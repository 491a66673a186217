"""A study again, in this process: the same specification and the recorded order of
tells, on an empty database.
"""

from collections import Counter
from typing import Any

from sqlalchemy import select
from threadpoolctl import threadpool_limits

from app.planner.planner import plan_one
from app.service.studies.lifecycle import create
from app.service.work.ask import serve_asks
from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import objectives, sample_values, samples, steps, studies
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.work import Ask, Job, Tell

# Kind, objective, number of its step; full; x
Sample = tuple[str, int, int, bool, tuple[float, ...]]
# Sample, objective, value, also, duration
RecordedTell = tuple[Sample, str, float, dict[str, float], float]


def proposals(database: Database, study: str | None = None) -> Counter[Sample]:
    """How often each sample was proposed: once, if all is well."""
    with database.read() as connection:
        return Counter(_samples(connection, study).values())


def without_omitted(
    expected: Counter[Sample], proposed: Counter[Sample]
) -> Counter[Sample]:
    """What a replay proposes, without generations of streams that were not planned when
    search began: a late planner omits those.
    """
    planned_steps = {sample[:3] for sample in proposed}
    kept: Counter[Sample] = Counter()
    for sample, count in expected.items():
        if sample[0] != "stream" or sample[:3] in planned_steps:
            kept[sample] = count
    return kept


def recorded_tells(database: Database, study: str | None = None) -> list[RecordedTell]:
    """The tells, in the order of the study's sequence."""
    with database.read() as connection:
        found = _samples(connection, study)
        rows = {row.id: row for row in connection.execute(select(objectives))}
        query = select(sample_values).order_by(sample_values.c.seq)
        values = [one for one in connection.execute(query) if one.sample_id in found]
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
    return tells


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


def replay(database: Database, spec: dict[str, Any], tells: list[RecordedTell]) -> None:
    """Steps are planned as soon as they are due, and jobs leased as soon as they are
    there.
    """
    held: dict[tuple[Sample, str], Job] = {}
    with threadpool_limits(1):
        create(database, parse_specification(spec), 60.0)
        _go_on(database, held)
        for sample, objective, value, also, duration in tells:
            job = held[sample, objective]
            said = Tell(
                job=job.job,
                lease=job.lease,
                value=value,
                also=also,
                duration_s=duration,
            )
            assert tell(database, [said])[0].status == 200
            _go_on(database, held)


def _go_on(database: Database, held: dict[tuple[Sample, str], Job]) -> None:
    ask = Ask(worker="replay", studies=["*"], objectives=["*"], max_jobs=256)
    planned = False
    while plan_one(database):
        planned = True
    while planned:
        (jobs,) = serve_asks(database, [ask], 20.0)
        with database.read() as connection:
            found = _samples(connection)
        held.update({(found[job.sample], job.objective): job for job in jobs})
        planned = bool(jobs)
