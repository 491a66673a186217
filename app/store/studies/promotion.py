"""Cheap-only samples that become full ones."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Connection, Integer, bindparam, case, update

from app.domain.steps import Step
from app.domain.studies import CoObjectives
from app.domain.work.promotion import Promotion, promotions
from app.store.sql.bulk import bulk_update
from app.store.sql.in_array import in_array
from app.store.studies.new_jobs import add_jobs, outputs_of
from app.store.tables import jobs, objectives, samples, studies
from app.store.work.row_locks import lock_jobs_of_samples
from counterpoise.wire.codes import JobState


def promote_samples(
    connection: Connection,
    study: int,
    ids: Sequence[int],
    co_objectives: CoObjectives,
    step: Step,
    waiting: Collection[int] = (),
) -> None:
    """Known values stay, superseded jobs are ready again, the other runs get jobs.

    `waiting`: runs that wait for the sample's cheap ones, if any is unsettled.

    Under the study's lock, in a constant number of statements.
    """
    if not ids:
        return
    locked = lock_jobs_of_samples(connection, ids)
    chosen = promotions(ids, locked, list(co_objectives), waiting)
    sample_ids = [promotion.sample for promotion in chosen]
    connection.execute(_PROMOTE, {"ids": sample_ids, "step": step.id})
    connection.execute(_TAKE_OVER_JOBS, {"ids": sample_ids})
    _count_jobs(connection, chosen, co_objectives)
    missing = {promotion.sample: promotion.missing for promotion in chosen}
    add_jobs(
        connection,
        study,
        missing,
        co_objectives,
        number=step.number,
        waiting={promotion.sample: promotion.waiting for promotion in chosen},
    )
    is_settled = [promotion for promotion in chosen if _lacks_nothing(promotion)]
    more = {"planned": len(chosen), "settled": len(is_settled)}
    connection.execute(_PLAN, {"study": study, **more})


def _lacks_nothing(promotion: Promotion) -> bool:
    return not (promotion.continued or promotion.revived or promotion.missing)


def _count_jobs(
    connection: Connection, chosen: Iterable[Promotion], co_objectives: CoObjectives
) -> None:
    opened = []
    revived: Counter[int] = Counter()
    open_full: Counter[int] = Counter()
    for promotion in chosen:
        runs = [job.objective for job in promotion.revived]
        opened.append(
            {"sample": promotion.sample, "opened": outputs_of(runs, co_objectives)}
        )
        open_full.update(runs)
        open_full.update(job.objective for job in promotion.continued)
        for run in runs:
            revived.update([run, *co_objectives[run]])
    _OPEN.execute(connection, opened)
    counts = [
        {
            "objective": objective,
            "more_open_full": open_full[objective],
            "less_superseded": revived[objective],
        }
        for objective in sorted({*open_full, *revived})
    ]
    _COUNT.execute(connection, counts)


_PROMOTE = (
    update(samples)
    .where(in_array(samples.c.id, "ids"))
    .values(full=True, promoted_by=bindparam("step"))
)
_TAKE_OVER_JOBS = (
    update(jobs)
    .where(
        in_array(jobs.c.sample_id, "ids"),
        jobs.c.state.in_(
            (
                JobState.WAITING,
                JobState.READY,
                JobState.LEASED,
                JobState.SUPERSEDED,
            )
        ),
    )
    .values(
        cheap_only=False,
        state=case(
            (jobs.c.state == JobState.SUPERSEDED, JobState.READY), else_=jobs.c.state
        ),
    )
)
_OPEN = bulk_update(
    {"sample": samples.c.id.type, "opened": Integer()},
    lambda given: (
        update(samples)
        .where(samples.c.id == given["sample"])
        .values(open=samples.c.open + given["opened"])
    ),
)
_COUNT = bulk_update(
    {
        "objective": objectives.c.id.type,
        "more_open_full": Integer(),
        "less_superseded": Integer(),
    },
    lambda given: (
        update(objectives)
        .where(objectives.c.id == given["objective"])
        .values(
            open_full=objectives.c.open_full + given["more_open_full"],
            superseded=objectives.c.superseded - given["less_superseded"],
        )
    ),
)
_PLAN = (
    update(studies)
    .where(studies.c.id == bindparam("study"))
    .values(
        planned_full=studies.c.planned_full + bindparam("planned"),
        settled_full=studies.c.settled_full + bindparam("settled"),
    )
)
