"""What Prometheus asks for: the state of all studies, and the steps done since it asked last."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import RowMapping

from app.service.work.workers import ALIVE_S
from app.store.database import Database
from app.store.metrics import count_workers, due_now, queue_counts, steps_done_since, study_counts
from app.store.studies.listings import database_time

MOST_STUDIES = 100
OVERLAP_S = 60.0  # a step is done a moment before its transaction is


@dataclass(frozen=True, slots=True)
class Overview:
    queues: Sequence[RowMapping]
    studies: dict[tuple[str, str], int]
    due: RowMapping
    workers: int
    new_steps: Sequence[RowMapping]


@dataclass(slots=True)
class Overlook:
    """Looks again and again; each step is new once."""

    _since: float | None = None
    _seen: set[int] = field(default_factory=set)

    def look(self, database: Database) -> Overview:
        with database.read() as connection:
            first = self._since is None
            since = database_time(connection) if self._since is None else self._since
            steps = steps_done_since(connection, since - OVERLAP_S)
            overview = Overview(
                queues=queue_counts(connection, MOST_STUDIES),
                studies=study_counts(connection),
                due=due_now(connection),
                workers=count_workers(connection, ALIVE_S),
                new_steps=[] if first else [step for step in steps if step["id"] not in self._seen],
            )
        self._since = max([since, *(step["done_at"] for step in steps)])
        self._seen = {step["id"] for step in steps}
        return overview
