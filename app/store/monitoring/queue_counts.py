"""Figures of all studies together, from counters and partial indexes: the same cost at
any number of jobs.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from app.store.sql.clock import database_now
from app.store.studies.steps import DUE
from app.store.tables import LEASED, jobs, objectives, steps, studies
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
