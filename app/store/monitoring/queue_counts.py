"""Figures of all studies together, from counters and partial indexes: the same cost at
any number of jobs.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, func, or_, select

from app.domain.workers import ALIVE_S
from app.store.sql.clock import database_now
from app.store.studies.steps import DUE
from app.store.tables import LEASED, attempts, jobs, objectives, steps, studies, workers
from app.store.work.signs_of_life import seen_within
from counterpoise.wire.codes import Phase, StudyState


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The jobs of one objective."""

    study: str
    objective: str
    state: str  # of the study
    created: int
    waiting: int
    leased: int
    done: int
    infeasible: int
    failed: int
    superseded: int
    expired: int
    late: int
    duplicate: int

    @property
    def ready(self) -> int:
        settled = self.done + self.infeasible + self.failed + self.superseded
        return max(self.created - self.waiting - self.leased - settled, 0)


@dataclass(frozen=True, slots=True)
class DueSteps:
    """Steps of active studies that are due."""

    due: int
    faulty: int  # that failed before
    oldest_s: float


@dataclass(frozen=True, slots=True)
class ExecutedStep:
    id: int
    kind: str
    due_at: float
    done_at: float
    timings: dict[str, float] | None


def queue_counts(connection: Connection, most_studies: int) -> list[QueueCounts]:
    """The queues of the newest unfinished studies."""
    unfinished = select(studies.c.id).where(studies.c.phase != Phase.FINISHED)
    shown = unfinished.order_by(studies.c.id.desc()).limit(most_studies)
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
            studies.c.state,
            objectives.c.created,
            objectives.c.waiting,
            func.coalesce(leased.c.leased, 0).label("leased"),
            objectives.c.done,
            objectives.c.infeasible,
            objectives.c.failed,
            objectives.c.superseded,
            objectives.c.expired,
            objectives.c.late,
            objectives.c.duplicate,
        )
        .join(studies, studies.c.id == objectives.c.study_id)
        .outerjoin(leased, leased.c.objective_id == objectives.c.id)
        .where(
            studies.c.id.in_(shown.scalar_subquery()),
            objectives.c.same_run_as.is_(None),
        )
        .order_by(studies.c.id, objectives.c.position)
    )
    return [QueueCounts(**row) for row in connection.execute(query).mappings()]


def study_counts(connection: Connection) -> dict[tuple[str, str], int]:
    """How many studies there are by phase and state."""
    query = select(studies.c.phase, studies.c.state, func.count()).group_by(
        studies.c.phase, studies.c.state
    )
    return {(phase, state): count for phase, state, count in connection.execute(query)}


def due_counts(connection: Connection) -> DueSteps:
    query = (
        select(
            func.count(),
            func.count(steps.c.fault),
            func.coalesce(database_now() - func.min(steps.c.due_at), 0.0),
        )
        .join(studies, studies.c.id == steps.c.study_id)
        .where(DUE, studies.c.state == StudyState.ACTIVE)
    )
    return DueSteps(*connection.execute(query).one())


def steps_done_since(connection: Connection, at: float) -> list[ExecutedStep]:
    timings = steps.c.record["timings_s"].label("timings")
    columns: Any = (steps.c.id, steps.c.kind, steps.c.due_at, steps.c.done_at, timings)
    rows = connection.execute(
        select(*columns).where(steps.c.done_at > at).order_by(steps.c.done_at)
    )
    return [ExecutedStep(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class LiveWorkers:
    """Workers that ask for the same jobs."""

    studies: tuple[str, ...]
    objectives: tuple[str, ...]
    count: int
    taking: int  # without those that get no more jobs


def live_workers_by_jobs(connection: Connection) -> list[LiveWorkers]:
    """Workers that asked recently, or hold a job: a worker that computes for hours does
    not ask.
    """
    holding = (
        select(attempts.c.worker_id)
        .join(jobs, jobs.c.lease == attempts.c.lease)
        .where(jobs.c.state == LEASED)
    )
    was_seen = and_(seen_within(ALIVE_S), workers.c.left_at.is_(None))
    is_alive = or_(was_seen, workers.c.id.in_(holding))
    query = select(workers.c.studies, workers.c.objectives, workers.c.drained)
    count: Counter[tuple[Any, Any]] = Counter()
    taking: Counter[tuple[Any, Any]] = Counter()
    for row in connection.execute(query.where(is_alive)):
        asked = (tuple(row.studies), tuple(row.objectives))
        count[asked] += 1
        taking[asked] += not row.drained
    return [LiveWorkers(*asked, count[asked], taking[asked]) for asked in count]
