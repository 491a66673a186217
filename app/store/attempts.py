"""Attempts: each lease's history."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, select

from app.store.among import among
from app.store.clock import database_now
from app.store.tables import attempts, jobs, workers


def owners(connection: Connection, leases: Sequence[str]) -> dict[str, tuple[int, int]]:
    """To which job and study each lease was issued; leases never issued are left out. This never changes."""
    rows = connection.execute(_OWNERS, {"leases": leases})
    return {lease: (job, study) for lease, job, study in rows}


_OWNERS = (
    select(attempts.c.lease, attempts.c.job_id, jobs.c.study_id)
    .join(jobs, jobs.c.id == attempts.c.job_id)
    .where(among(attempts.c.lease, "leases"))
)


def read_attempts(connection: Connection, leases: Sequence[str]) -> dict[str, RowMapping]:
    return {row["lease"]: row for row in connection.execute(_ATTEMPTS, {"leases": leases}).mappings()}


_AGE = (database_now() - attempts.c.leased_at).label("age_s")
_ATTEMPTS = select(*attempts.c, _AGE).where(among(attempts.c.lease, "leases"))


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
