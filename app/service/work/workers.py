"""Workers: list them and drain them."""

from collections.abc import Sequence

from app.domain.times import iso
from app.domain.workers import HeldLease, Worker
from app.errors import WorkerUnknown
from app.store.database import Connection, Database
from app.store.sql.clock import database_time
from app.store.wakeups import notify
from app.store.work.live_workers import held_leases, live_workers
from app.store.work.workers import (
    drain_worker,
    find_worker,
    forget_idle_workers,
    page_of_workers,
    worker_names,
)
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.views import WorkerFailures, WorkerView

DAY_S = 86_400.0
FORGET_AT_ONCE = 1000


def list_workers(
    database: Database, after: int, limit: int
) -> list[tuple[int, WorkerView]]:
    with database.read() as connection:
        workers = page_of_workers(connection, after, limit)
        held = held_leases(connection, [worker.id for worker in workers])
        now = database_time(connection)
    return [
        (worker.id, _view(worker, held.get(worker.id, ()), now)) for worker in workers
    ]


def live_worker_views(database: Database) -> list[WorkerView]:
    """Workers that were seen recently, or hold jobs."""
    with database.read() as connection:
        held = held_leases(connection)
        workers = live_workers(connection, list(held))
        now = database_time(connection)
    return [_view(worker, held.get(worker.id, ()), now) for worker in workers]


def _view(worker: Worker, held: Sequence[HeldLease], now: float) -> WorkerView:
    return WorkerView(
        worker=worker.name,
        first_seen_at=iso(worker.first_seen_at),
        last_seen_at=iso(worker.last_seen_at),
        alive=worker.is_alive(held, now),
        shared=worker.is_shared(now),
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
        held = held_leases(connection, [worker.id]).get(worker.id, ())
        return _view(worker, held, database_time(connection))


def forget_idle(database: Database, kept_days: float) -> int:
    """Delete workers that only ever asked, in small transactions; returns how many."""
    return database.write(forget_idle_workers, kept_days * DAY_S, FORGET_AT_ONCE)


def _drain(connection: Connection, name: str, drained: bool) -> None:
    if not drain_worker(connection, name, drained):
        raise WorkerUnknown(
            f"no worker {name!r} has asked yet{did_you_mean(name, worker_names(connection))}"
        )
    notify(connection)  # it may be waiting for a job, at any server
