"""Workers: list them and drain them."""

from collections.abc import Sequence

from app.domain.times import iso
from app.domain.workers import HeldLease, Worker
from app.errors import WorkerUnknown
from app.store.database import Connection, Database
from app.store.studies.jobs import database_time
from app.store.wakeups import notify
from app.store.work.workers import (
    drain_worker,
    find_worker,
    held_leases,
    page_of_workers,
    worker_names,
)
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.views import WorkerFailures, WorkerView


def list_workers(
    database: Database, after: int, limit: int
) -> list[tuple[int, WorkerView]]:
    with database.read() as connection:
        workers = page_of_workers(connection, after, limit)
        held = held_leases(connection)
        now = database_time(connection)
    return [
        (worker.id, _view(worker, held.get(worker.id, ()), now)) for worker in workers
    ]


def _view(worker: Worker, held: Sequence[HeldLease], now: float) -> WorkerView:
    return WorkerView(
        worker=worker.name,
        first_seen_at=iso(worker.first_seen_at),
        last_seen_at=iso(worker.last_seen_at),
        alive=worker.is_alive(held, now),
        drained=worker.drained,
        studies=worker.studies,
        objectives=worker.objectives,
        slots=worker.slots,
        jobs=[lease.job for lease in held],
        done=worker.done,
        failures=WorkerFailures(**worker.failures),
        busy_share=worker.busy_share(held, now),
    )


def drain(database: Database, name: str, drained: bool) -> WorkerView:
    """The worker gets no more jobs, or gets jobs again; those that it holds go on."""
    database.write(_drain, name, drained)
    with database.read() as connection:
        worker = find_worker(connection, name)
        held = held_leases(connection).get(worker.id, ())
        return _view(worker, held, database_time(connection))


def _drain(connection: Connection, name: str, drained: bool) -> None:
    if not drain_worker(connection, name, drained):
        raise WorkerUnknown(
            f"no worker {name!r} has asked yet{did_you_mean(name, worker_names(connection))}"
        )
    notify(connection)  # it may be waiting for a job, at any server
