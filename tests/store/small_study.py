"""A small study in the store, for tests that need jobs."""

from collections.abc import Sequence

from sqlalchemy import Connection

from app.store.database import Database
from app.store.samples import NewSample, add_samples
from app.store.studies import NewObjective, create_study, queues
from app.store.workers import see_worker


class SmallStudy:
    """Objectives `mass` and `drag`; samples are added as a test wants them."""

    def __init__(self, database: Database, name: str = "wing", budget: int = 1000, lease_s: float = 60.0) -> None:
        self.database = database

        def create(connection: Connection) -> tuple[int, dict[str, int], int]:
            objectives = [NewObjective("mass", lease_s), NewObjective("drag", lease_s)]
            study = create_study(connection, name, {"name": name}, budget, seed=1, wanted=objectives)
            return study, queues(connection, study), see_worker(connection, "worker-1")

        self.id, self.queues, self.worker = database.write(create)

    def add_full(self, count: int) -> list[int]:
        both = tuple(self.queues.values())
        wanted = [NewSample([0.1, float(i)], both, full=True, open=2) for i in range(count)]
        return self.database.write(lambda connection: add_samples(connection, self.id, wanted))

    def add_cheap_only(self, count: int, objectives: Sequence[str] = ("mass",)) -> list[int]:
        ids = tuple(self.queues[name] for name in objectives)
        wanted = [NewSample([0.2, float(i)], ids, full=False, open=len(ids)) for i in range(count)]
        return self.database.write(lambda connection: add_samples(connection, self.id, wanted))
