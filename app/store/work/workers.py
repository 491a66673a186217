"""Workers: registration, draining, and pages of them.

Lock order: workers last, and by name. An ask holds workers while it waits for nothing
else; every other transaction that locks workers has locked all the studies and jobs
that it needs before.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, case, delete, func, select, update

from app.domain.workers import Worker, WorkerSeen
from app.store.records import worker_from_row
from app.store.sql.bulk import bulk_insert
from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.tables import LEASED, attempts, jobs, workers


@dataclass(frozen=True, slots=True)
class KnownWorker:
    id: int
    drained: bool


def register_workers(
    connection: Connection, seen: Iterable[WorkerSeen]
) -> dict[str, KnownWorker]:
    """Record that these workers asked, adding new ones. Returns them by name."""
    by_name = {worker.name: worker for worker in seen}  # the last ask of each counts
    # Sorted, so that two batches never lock in opposite orders.
    rows = [_worker_row(by_name[name]) for name in sorted(by_name)]
    if connection.dialect.name == "postgresql":
        known = connection.execute(_REGISTER_RETURNING, {_REGISTER.parameter: rows})
    else:
        _REGISTER.execute(connection, rows)
        known = connection.execute(_KNOWN, {"names": by_name})
    return {row.name: KnownWorker(row.id, row.drained) for row in known}


def _worker_row(worker: WorkerSeen) -> dict[str, Any]:
    return {
        "name": worker.name,
        "studies": list(worker.studies),
        "objectives": list(worker.objectives),
        "slots": worker.slots,
        "instance": worker.instance,
    }


_KNOWN_COLUMNS = (workers.c.name, workers.c.id, workers.c.drained)
_KNOWN = select(*_KNOWN_COLUMNS).where(in_array(workers.c.name, "names"))


def _update_known(insert: Any) -> Any:
    new = insert.excluded
    most_slots = case((new.slots > workers.c.slots, new.slots), else_=workers.c.slots)
    is_other = new.instance != workers.c.instance  # null if one is not known
    is_back = new.instance == workers.c.other_instance
    changes = {
        "last_seen_at": database_now(),
        "studies": new.studies,
        "objectives": new.objectives,
        "slots": most_slots,
        "instance": func.coalesce(new.instance, workers.c.instance),
        "other_instance": case(
            (is_other, workers.c.instance), else_=workers.c.other_instance
        ),
        "shared_at": case((is_back, database_now()), else_=workers.c.shared_at),
        "left_at": None,
    }
    return insert.on_conflict_do_update(index_elements=["name"], set_=changes)


_REGISTER = bulk_insert(
    workers,
    ("name", "studies", "objectives", "slots", "instance"),
    {"first_seen_at": database_now(), "last_seen_at": database_now()},
    _update_known,
)
_REGISTER_RETURNING = _REGISTER.postgresql.returning(*_KNOWN_COLUMNS)


def leases_of_process(connection: Connection, worker: str, instance: str) -> list[str]:
    """The current leases of one process of a worker."""
    query = (
        select(jobs.c.lease)
        .join(attempts, attempts.c.lease == jobs.c.lease)
        .join(workers, workers.c.id == attempts.c.worker_id)
        .where(
            jobs.c.state == LEASED,
            workers.c.name == worker,
            attempts.c.instance == instance,
        )
        .order_by(jobs.c.id)
    )
    return list(connection.execute(query).scalars())


def record_end(connection: Connection, worker: str, instance: str) -> None:
    """The process has ended; if another one has asked since, the worker goes on."""
    connection.execute(
        update(workers)
        .where(workers.c.name == worker, workers.c.instance == instance)
        .values(left_at=database_now())
    )


def drain_worker(connection: Connection, name: str, drained: bool) -> bool:
    """False if no worker has this name."""
    statement = update(workers).where(workers.c.name == name).values(drained=drained)
    return connection.execute(statement).rowcount > 0


def find_worker(connection: Connection, name: str) -> Worker:
    return worker_from_row(
        connection.execute(select(workers).where(workers.c.name == name)).one()
    )


def drained_among(connection: Connection, names: Iterable[str]) -> set[str]:
    return set(connection.execute(_DRAINED, {"names": names}).scalars())


_DRAINED = select(workers.c.name).where(
    in_array(workers.c.name, "names"), workers.c.drained
)


def worker_names(connection: Connection) -> list[str]:
    return list(
        connection.execute(
            select(workers.c.name).order_by(workers.c.id.desc()).limit(1000)
        ).scalars()
    )


def page_of_workers(connection: Connection, after: int, limit: int) -> list[Worker]:
    query = (
        select(workers).where(workers.c.id > after).order_by(workers.c.id).limit(limit)
    )
    return [worker_from_row(row) for row in connection.execute(query)]


def forget_idle_workers(connection: Connection, idle_s: float, most: int) -> int:
    """Delete workers that were not seen for this time, never had a job, and are not
    drained; returns how many.
    """
    has_attempt = select(attempts.c.id).where(attempts.c.worker_id == workers.c.id)
    is_idle = and_(
        workers.c.last_seen_at < database_now() - idle_s,
        ~workers.c.drained,
        ~has_attempt.exists(),
    )
    some = select(workers.c.id).where(is_idle).limit(most)
    # The condition again: a worker may ask between the two
    statement = delete(workers).where(workers.c.id.in_(some), is_idle)
    return connection.execute(statement).rowcount
