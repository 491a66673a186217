"""What all studies together look like, from counters and partial indexes: the same cost at any number of jobs."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, func, or_, select

from app.store.sql.clock import database_now
from app.store.studies.steps import DUE
from app.store.tables import LEASED, attempts, jobs, objectives, steps, studies, workers
from app.store.work.workers import seen_within


def queue_counts(connection: Connection, most_studies: int) -> Sequence[RowMapping]:
    """The counters of each queue of the newest unfinished studies."""
    shown = select(studies.c.id).where(studies.c.phase != "finished").order_by(studies.c.id.desc()).limit(most_studies)
    leased = (
        select(jobs.c.objective_id, func.count().label("leased"))
        .where(jobs.c.state == LEASED)
        .group_by(jobs.c.objective_id)
        .subquery()
    )
    query = (
        select(
            studies.c.name.label("study"),
            objectives.c.name.label("objective"),
            *(objectives.c[name] for name in ("created", "done", "failed", "superseded")),
            *(objectives.c[name] for name in ("expired", "late", "duplicate")),
            func.coalesce(leased.c.leased, 0).label("leased"),
        )
        .join(studies, studies.c.id == objectives.c.study_id)
        .outerjoin(leased, leased.c.objective_id == objectives.c.id)
        .where(studies.c.id.in_(shown.scalar_subquery()), objectives.c.same_run_as.is_(None))
        .order_by(studies.c.id, objectives.c.position)
    )
    return connection.execute(query).mappings().all()


def study_counts(connection: Connection) -> dict[tuple[str, str], int]:
    """How many studies there are by phase and state."""
    query = select(studies.c.phase, studies.c.state, func.count()).group_by(studies.c.phase, studies.c.state)
    return {(phase, state): count for phase, state, count in connection.execute(query)}


def due_now(connection: Connection) -> RowMapping:
    """Of active studies: steps that are due, those among them that failed before, and for how long the oldest waits."""
    query = (
        select(
            func.count().label("due"),
            func.count(steps.c.fault).label("faulty"),
            func.coalesce(database_now() - func.min(steps.c.due_at), 0.0).label("oldest_s"),
        )
        .join(studies, studies.c.id == steps.c.study_id)
        .where(DUE, studies.c.state == "active")
    )
    return connection.execute(query).mappings().one()


def steps_done_since(connection: Connection, at: float) -> Sequence[RowMapping]:
    timings = steps.c.record["timings_s"].label("timings")
    columns: Any = (steps.c.id, steps.c.kind, steps.c.due_at, steps.c.done_at, timings)
    return connection.execute(select(*columns).where(steps.c.done_at > at).order_by(steps.c.done_at)).mappings().all()


def count_workers(connection: Connection, within_s: float) -> int:
    """Workers that asked lately, or hold a job: who computes for hours does not ask."""
    holding = select(attempts.c.worker_id).join(jobs, jobs.c.lease == attempts.c.lease).where(jobs.c.state == LEASED)
    alive = or_(seen_within(within_s), workers.c.id.in_(holding))
    return int(connection.execute(select(func.count()).select_from(workers).where(alive)).scalar_one())
