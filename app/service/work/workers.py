"""Workers: who is there, what they did, and draining."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping

from app.domain.timestamps import iso
from app.errors import WorkerUnknown
from app.store.database import Database
from app.store.studies.listings import Held, database_time, jobs_held, page_of_workers
from app.store.wakeups import notify
from app.store.work.workers import FAILURES, drain_worker, find_worker, worker_names
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.views import WorkerFailures, WorkerView

ALIVE_S = 120.0  # workers poll at least every minute


def list_workers(database: Database, after: int, limit: int) -> list[tuple[int, WorkerView]]:
    with database.read() as connection:
        rows = page_of_workers(connection, after, limit)
        held, now = jobs_held(connection), database_time(connection)
    return [(row["id"], _view(row, held.get(row["id"], ()), now)) for row in rows]


def _view(row: RowMapping, held: Sequence[Held], now: float) -> WorkerView:
    return WorkerView(
        worker=row["name"],
        first_seen_at=iso(row["first_seen_at"]),
        last_seen_at=iso(row["last_seen_at"]),
        alive=bool(held) or abs(now - row["last_seen_at"]) < ALIVE_S,
        drained=row["drained"],
        studies=row["studies"],
        objectives=row["objectives"],
        slots=row["slots"],
        jobs=[one.job for one in held],
        done=row["done"],
        failures=WorkerFailures(**{kind: row[kind] for kind in FAILURES}),
        busy_share=busy_share(row, [one.leased_at for one in held], now),
    )


def busy_share(row: RowMapping, since: Sequence[float], now: float) -> float:
    """`since`: when the leases that it holds began. One name for several processes may hold more than it asked for."""
    there = (now if since else row["last_seen_at"]) - row["first_seen_at"]
    busy = row["busy_s"] + sum(now - began for began in since)
    return 0.0 if there <= 0 else min(max(busy / (there * row["slots"]), 0.0), 1.0)


def drain(database: Database, name: str, drained: bool) -> WorkerView:
    """It gets no more jobs, or does again; what it holds goes on."""

    def work(connection: Connection) -> None:
        if not drain_worker(connection, name, drained):
            raise WorkerUnknown(f"no worker {name!r} has asked yet{did_you_mean(name, worker_names(connection))}")
        notify(connection)  # it may be waiting for a job, at any server

    database.write(work)
    with database.read() as connection:
        row = find_worker(connection, name)
        return _view(row, jobs_held(connection).get(row["id"], ()), database_time(connection))
