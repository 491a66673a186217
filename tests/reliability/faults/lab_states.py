"""States of a study in which races and kills are tried."""

from sqlalchemy import Connection, update

from app.service.work.expire import expire_leases
from app.store.database import Database
from app.store.tables import attempts, jobs, server_uptime, steps
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.work import Ask, Job
from tests.service.lab import Lab


def planned_lab(database: Database) -> Lab:
    """Four initial samples, ready to be leased."""
    lab = Lab(database, generations=1, batch_size=2)
    lab.plan()
    return lab


def lab_with_due_search(database: Database) -> Lab:
    """A search step is due; cheap-only jobs of the stream are ready."""
    lab = planned_lab(database)
    for job in lab.ask("mass", most=4):
        lab.tell(job)
    lab.plan()
    for job in lab.ask("crash", most=4):
        lab.tell(job)
    due = [row["kind"] for row in lab.rows(steps) if row["state"] == "due"]
    assert due == ["search"]
    return lab


def lab_with_due_second_search(database: Database) -> tuple[Lab, Job]:
    """The second search step is due; with a leased cheap-only job of the first."""
    lab = lab_with_due_search(database)
    lab.plan()
    for job in [*lab.ask("crash", most=2), *lab.ask("mass", most=2)]:
        lab.tell(job)
    due = [row["number"] for row in lab.rows(steps) if row["state"] == "due"]
    assert due == [2]
    (cheap_only,) = lab.ask("mass")
    assert lab.job(cheap_only.job)["cheap_only"]
    return lab, cheap_only


def asks(max_jobs: int, objective: str = "crash") -> list[Ask]:
    """The request of another worker."""
    return [
        Ask(worker="other", studies=["wing"], objectives=[objective], max_jobs=max_jobs)
    ]


def make_overdue(lab: Lab) -> None:
    """All leases are overdue, but no planner has expired them yet."""
    leased = update(jobs).where(jobs.c.state == "leased")

    def change(connection: Connection) -> None:
        record_uptime(connection)
        connection.execute(update(server_uptime).values(resumed_at=0.0))
        connection.execute(leased.values(expires_at=1.0))

    lab.database.write(change)


def expire_all(lab: Lab) -> int:
    """All leases expire, and their jobs are ready without a back-off."""
    make_overdue(lab)
    expired = expire_leases(lab.database)
    lab.end_backoffs()
    return expired


def end_claims(database: Database) -> None:
    """Other planners may claim every step that is due."""
    database.write(
        lambda connection: connection.execute(
            update(steps).values(claim_expires_at=0.0)
        )
    )


def attempt_outcomes(lab: Lab) -> list[str | None]:
    return [row["outcome"] for row in lab.rows(attempts)]


def told_values(lab: Lab) -> list[tuple[str, float]]:
    """Outcome and value of each attempt."""
    return [(row["outcome"], row["value"]) for row in lab.rows(attempts)]


def jobs_in(lab: Lab, state: str) -> list[int]:
    return [row["id"] for row in lab.rows(jobs) if row["state"] == state]
