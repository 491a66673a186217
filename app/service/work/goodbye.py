"""Goodbye: a worker's process has ended and no longer holds jobs."""

from app.service.work.release import release
from app.store.database import Database
from app.store.work.workers import leases_of_process, record_end


def goodbye(database: Database, worker: str, instance: str) -> list[str]:
    """Release the leases of a worker's process, sent by itself or, after a crash, by the
    process that was started under its name; returns the released leases.
    """
    with database.read() as connection:
        leases = leases_of_process(connection, worker, instance)
    released = release(database, leases) if leases else []
    database.write(record_end, worker, instance)
    return released
