"""A small study in the store, for tests that need jobs."""

from collections.abc import Sequence

from sqlalchemy import Connection

from app.store.database import Database
from app.store.studies.samples import NewSample, add_samples
from app.store.studies.studies import NewObjective, create_study, queues
from app.store.work.lease_queue import Lease, Wish, lease, open_attempts
from app.store.work.workers import Seen, see_workers


class SmallStudy:
    """Objectives `mass` and `drag`; samples are added as a test wants them."""

    def __init__(self, database: Database, name: str = "wing", budget: int = 1000, lease_s: float = 60.0) -> None:
        self.database = database

        def create(connection: Connection) -> tuple[int, dict[str, int], int]:
            objectives = [NewObjective("mass", lease_s), NewObjective("drag", lease_s)]
            study = create_study(connection, name, {"name": name}, budget, seed=1, wanted=objectives)
            workers = see_workers(connection, [Seen("worker-1")])
            return study, queues(connection, study), workers["worker-1"]["id"]

        self.id, self.queues, self.worker = database.write(create)

    def add_full(self, count: int) -> list[int]:
        both = tuple(self.queues.values())
        wanted = [NewSample([0.1, float(i)], both, full=True) for i in range(count)]
        return self.database.write(lambda connection: add_samples(connection, self.id, wanted))

    def add_cheap_only(self, count: int, objectives: Sequence[str] = ("mass",)) -> list[int]:
        ids = tuple(self.queues[name] for name in objectives)
        wanted = [NewSample([0.2, float(i)], ids, full=False) for i in range(count)]
        return self.database.write(lambda connection: add_samples(connection, self.id, wanted))

    def take(self, limit: int = 1, *names: str) -> list[Lease]:
        wanted = [self.queues[name] for name in names or self.queues]

        def work(connection: Connection) -> list[Lease]:
            leases: list[Lease] = []
            while more := lease(connection, [Wish(wanted, limit - len(leases))]):
                leases += more
            open_attempts(connection, [(one, self.worker) for one in leases])
            return leases

        return self.database.write(work)
