"""A small study in the store, for tests that need jobs."""

from collections.abc import Sequence

from sqlalchemy import Connection

from app.domain.jobs import Lease, LeaseRequest
from app.domain.samples import NewSample
from app.domain.studies import CoObjectives, NewObjective
from app.domain.workers import WorkerSeen
from app.store.database import Database
from app.store.studies.new_samples import add_samples
from app.store.studies.studies import create_study, objectives_of
from app.store.work.lease_queue import lease_jobs, open_attempts
from app.store.work.workers import register_workers
from counterpoise.wire.specification import parse_specification


class SmallStudy:
    """Objectives `mass` and `drag`; samples are added as a test needs them."""

    def __init__(
        self,
        database: Database,
        name: str = "wing",
        budget: int = 1000,
        lease_s: float = 60.0,
    ) -> None:
        self.database = database
        spec = parse_specification(
            {
                "name": name,
                "variables": [
                    {"name": "a", "low": 0.0, "high": 1.0},
                    {"name": "b", "low": 0.0, "high": 1000.0},
                ],
                "objectives": [{"name": "mass"}, {"name": "drag"}],
                "initial_samples": 2,
                "budget": budget,
            }
        )

        def create(connection: Connection) -> tuple[int, dict[str, int], int]:
            objectives = [NewObjective("mass", lease_s), NewObjective("drag", lease_s)]
            study = create_study(connection, spec, seed=1, wanted=objectives)
            assert study is not None
            queues = {
                objective.name: objective.id
                for objective in objectives_of(connection, study.id)
            }
            workers = register_workers(connection, [WorkerSeen("worker-1")])
            return study.id, queues, workers["worker-1"].id

        self.id, self.queues, self.worker = database.write(create)
        self.co_objectives: CoObjectives = {run: [] for run in self.queues.values()}

    def add_full(self, count: int) -> list[int]:
        both = tuple(self.queues.values())
        wanted = [NewSample([0.1, float(i)], both, full=True) for i in range(count)]
        return self.database.write(add_samples, self.id, wanted, {})

    def add_cheap_only(
        self, count: int, objectives: Sequence[str] = ("mass",)
    ) -> list[int]:
        ids = tuple(self.queues[name] for name in objectives)
        wanted = [NewSample([0.2, float(i)], ids, full=False) for i in range(count)]
        return self.database.write(add_samples, self.id, wanted, {})

    def take(self, limit: int = 1, *names: str) -> list[Lease]:
        queues = [self.queues[name] for name in names or self.queues]

        def work(connection: Connection) -> list[Lease]:
            leases: list[Lease] = []
            while more := lease_jobs(
                connection, [LeaseRequest(queues, limit - len(leases))]
            ):
                leases += more
            open_attempts(connection, [(lease, self.worker, None) for lease in leases])
            return leases

        return self.database.write(work)
