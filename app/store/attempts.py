"""Attempts: each lease's history."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, select

from app.store.clock import database_now
from app.store.tables import attempts, jobs, workers


def owners(connection: Connection, leases: Sequence[str]) -> dict[str, tuple[int, int]]:
    """To which job and study each lease was issued; leases never issued are left out. This never changes."""
    query = (
        select(attempts.c.lease, attempts.c.job_id, jobs.c.study_id)
        .join(jobs, jobs.c.id == attempts.c.job_id)
        .where(attempts.c.lease.in_(leases))
    )
    return {row.lease: (row.job_id, row.study_id) for row in connection.execute(query)}


def read_attempts(connection: Connection, leases: Sequence[str]) -> dict[str, RowMapping]:
    age = (database_now() - attempts.c.leased_at).label("age_s")
    query = select(*attempts.c, age).where(attempts.c.lease.in_(leases))
    return {row["lease"]: row for row in connection.execute(query).mappings()}


def attempts_of(connection: Connection, job: int) -> list[RowMapping]:
    query = (
        select(*attempts.c, workers.c.name.label("worker"))
        .join(workers, workers.c.id == attempts.c.worker_id)
        .where(attempts.c.job_id == job)
        .order_by(attempts.c.number)
    )
    return list(connection.execute(query).mappings())
