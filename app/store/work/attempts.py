"""Attempts: each lease's history."""

from collections.abc import Sequence

from sqlalchemy import CTE, Connection, RowMapping, select

from app.store.sql.clock import database_now
from app.store.sql.in_array import among
from app.store.tables import attempts, jobs, workers


def with_leases(name: str) -> CTE:
    """Attempts by their leases, given as the parameter `leases`: found first, whatever they are joined with.

    Without statistics PostgreSQL may think that a worker has but few attempts, and read all of them.
    """
    found = select(attempts, (database_now() - attempts.c.leased_at).label("age_s"))
    return found.where(among(attempts.c.lease, "leases")).cte(name).prefix_with("MATERIALIZED")


def owners(connection: Connection, leases: Sequence[str]) -> dict[str, tuple[int, int]]:
    """To which job and study each lease was issued; leases never issued are left out. This never changes."""
    rows = connection.execute(_OWNERS, {"leases": leases})
    return {lease: (job, study) for lease, job, study in rows}


_found = with_leases("found")
_OWNERS = select(_found.c.lease, _found.c.job_id, jobs.c.study_id).join(jobs, jobs.c.id == _found.c.job_id)


def read_attempts(connection: Connection, leases: Sequence[str]) -> dict[str, RowMapping]:
    return {row["lease"]: row for row in connection.execute(_ATTEMPTS, {"leases": leases}).mappings()}


_ATTEMPTS = select(with_leases("found"))


def last_attempts(connection: Connection, job: int, most: int) -> list[RowMapping]:
    """The latest attempts at a job, with the names of their workers, in their order."""
    query = (
        select(attempts, workers.c.name.label("worker"))
        .join(workers, workers.c.id == attempts.c.worker_id)
        .where(attempts.c.job_id == job)
        .order_by(attempts.c.number.desc())
        .limit(most)
    )
    return list(connection.execute(query).mappings())[::-1]
