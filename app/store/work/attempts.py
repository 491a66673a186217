"""Attempts: each lease's history."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import CTE, Connection, select

from app.domain.jobs import Attempt
from app.store.records import attempt_from_row
from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.tables import attempts, jobs, samples, workers

ATTEMPT_COLUMNS = (
    *(column for column in attempts.c if column.name != "lease"),
    attempts.c.lease.label("attempt_lease"),
    (database_now() - attempts.c.leased_at).label("age_s"),
)


@dataclass(frozen=True, slots=True)
class LeaseOwner:
    """The job and study that a lease was issued for, and whether its sample has been
    ruled out meanwhile.
    """

    job: int
    study: int
    sample_infeasible: bool


@dataclass(frozen=True, slots=True)
class AttemptOfWorker:
    attempt: Attempt
    worker: str  # its name


def attempts_with_leases(name: str) -> CTE:
    """The attempts whose leases are the parameter `leases`, read before they are joined
    with anything.

    Without statistics PostgreSQL may expect few attempts of each worker, and read all
    of them.
    """
    found = select(*ATTEMPT_COLUMNS).where(in_array(attempts.c.lease, "leases"))
    return found.cte(name).prefix_with("MATERIALIZED")


def lease_owners(
    connection: Connection, leases: Iterable[str]
) -> dict[str, LeaseOwner]:
    """By lease; leases that were never issued are left out."""
    rows = connection.execute(_OWNERS, {"leases": leases})
    return {
        row.attempt_lease: LeaseOwner(row.job_id, row.study_id, bool(row.infeasible))
        for row in rows
    }


_found = attempts_with_leases("found")
_OWNERS = (
    select(
        _found.c.attempt_lease,
        _found.c.job_id,
        jobs.c.study_id,
        samples.c.infeasible,
    )
    .join(jobs, jobs.c.id == _found.c.job_id)
    .join(samples, samples.c.id == jobs.c.sample_id)
)


def read_attempts(connection: Connection, leases: Iterable[str]) -> dict[str, Attempt]:
    rows = connection.execute(_ATTEMPTS, {"leases": leases})
    return {row.attempt_lease: attempt_from_row(row) for row in rows}


_ATTEMPTS = select(attempts_with_leases("found"))


def last_attempts(
    connection: Connection, job: int, limit: int
) -> list[AttemptOfWorker]:
    """The latest attempts at a job, oldest first."""
    query = (
        _WITH_WORKERS.where(attempts.c.job_id == job)
        .order_by(attempts.c.number.desc())
        .limit(limit)
    )
    return [
        AttemptOfWorker(attempt_from_row(row), row.worker)
        for row in connection.execute(query)
    ][::-1]


def attempts_at(
    connection: Connection, jobs: Sequence[int]
) -> dict[int, list[AttemptOfWorker]]:
    """All attempts at each of these jobs, oldest first."""
    query = _WITH_WORKERS.where(in_array(attempts.c.job_id, "jobs", jobs))
    found: dict[int, list[AttemptOfWorker]] = {}
    for row in connection.execute(query.order_by(attempts.c.job_id, attempts.c.number)):
        found.setdefault(row.job_id, []).append(
            AttemptOfWorker(attempt_from_row(row), row.worker)
        )
    return found


_WITH_WORKERS = select(*ATTEMPT_COLUMNS, workers.c.name.label("worker")).join(
    workers, workers.c.id == attempts.c.worker_id
)
