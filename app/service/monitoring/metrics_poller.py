"""Figures for Prometheus: the state of all studies, and each executed step exactly
once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.workers import Worker
from app.store.database import Database
from app.store.monitoring.queue_counts import (
    DueSteps,
    ExecutedStep,
    QueueCounts,
    due_counts,
    queue_counts,
    steps_done_since,
    study_counts,
)
from app.store.sql.clock import database_time
from app.store.work.live_workers import held_leases, live_workers
from counterpoise.wire.work import matches

MOST_STUDIES = 100
OVERLAP_S = 60.0  # a step's time is a moment before its transaction commits


@dataclass(frozen=True, slots=True)
class Figures:
    queues: Sequence[QueueCounts]
    studies: dict[tuple[str, str], int]  # by phase and state
    due: DueSteps
    workers_alive: int
    # Live workers that get jobs, by the studies and objectives that they ask for
    takers: Mapping[tuple[tuple[str, ...], tuple[str, ...]], int]
    new_steps: Sequence[ExecutedStep]

    def workers_of(self, queue: QueueCounts) -> int:
        """Live workers that take the jobs of this queue."""
        return sum(
            count
            for (studies, objectives), count in self.takers.items()
            if matches(studies, queue.study) and matches(objectives, queue.objective)
        )


@dataclass(slots=True)
class MetricsPoller:
    """Polls; reports each executed step exactly once."""

    _since: float | None = None
    _seen: set[int] = field(default_factory=set)

    def poll(self, database: Database) -> Figures:
        with database.read() as connection:
            is_first = self._since is None
            since = database_time(connection) if self._since is None else self._since
            steps = steps_done_since(connection, since - OVERLAP_S)
            new_steps = (
                []
                if is_first
                else [step for step in steps if step.id not in self._seen]
            )
            workers = live_workers(connection, held_leases(connection))
            figures = Figures(
                queues=queue_counts(connection, MOST_STUDIES),
                studies=study_counts(connection),
                due=due_counts(connection),
                workers_alive=len(workers),
                takers=_takers(workers),
                new_steps=new_steps,
            )
        self._since = max([since, *(step.done_at for step in steps)])
        self._seen = {step.id for step in steps}
        return figures


def _takers(
    workers: Iterable[Worker],
) -> Counter[tuple[tuple[str, ...], tuple[str, ...]]]:
    return Counter(
        (tuple(worker.studies), tuple(worker.objectives))
        for worker in workers
        if not worker.drained
    )
