"""A server that was away for longer than a lease: what was being evaluated goes on, and
nothing starts twice.
"""

import time

import httpx
import pytest
from sqlalchemy import Connection, select, update

from app.store.database import Database
from app.store.tables import attempts, jobs, server_uptime
from tests.e2e.plate_study import SPEC
from tests.e2e.processes import eventually, planning, serving

LEASE_S = 6.0


def let_pass(database: Database, seconds: float) -> None:
    """Everything that has a time was so long ago."""

    def work(connection: Connection) -> None:
        ago = {
            name: server_uptime.c[name] - seconds for name in ("seen_at", "resumed_at")
        }
        connection.execute(update(server_uptime).values(ago))
        connection.execute(
            update(jobs).values(
                {name: jobs.c[name] - seconds for name in ("leased_at", "expires_at")}
            )
        )
        connection.execute(
            update(attempts).values(leased_at=attempts.c.leased_at - seconds)
        )

    database.write(work)


@pytest.mark.parametrize(
    "backend", [pytest.param("sqlite", marks=pytest.mark.slow), "postgresql"]
)
def test_a_lease_survives_an_outage_that_is_longer(
    database: Database, database_url: str
) -> None:
    with planning(database_url):  # it could let leases expire all the time
        with serving(database_url, "--no-planner") as (url, process):
            httpx.post(
                f"{url}/studies", json=SPEC | {"lease_s": LEASE_S}
            ).raise_for_status()
            ask = {
                "worker": "a",
                "studies": ["plate"],
                "objectives": ["stiffness"],
                "max_jobs": 6,
                "wait_s": 30,
            }
            held = httpx.post(f"{url}/ask", json=ask, timeout=60).json()["jobs"]
            assert len(held) == 6  # the whole design
            process.kill()
            process.wait()
        let_pass(database, 600.0)
        with serving(database_url, "--no-planner") as (url, _):
            other = httpx.post(
                f"{url}/ask", json=ask | {"worker": "b", "wait_s": 2}, timeout=60
            ).json()
            assert (other["jobs"], other["reason"]) == ([], "all_leased")
            leases = {"leases": [job["lease"] for job in held]}
            alive = httpx.post(f"{url}/heartbeat", json=leases).json()["leases"]
            assert [one["cancel"] for one in alive] == [False] * 6
            for job in held:
                said = {"job": job["job"], "lease": job["lease"], "value": 1.0}
                assert (
                    httpx.post(f"{url}/tell", json=said).json()["detail"] == "recorded"
                )
    assert attempts_of(database) == [("done", 1)] * 6


@pytest.mark.slow
def test_without_a_sign_of_life_the_job_returns_one_lease_later(
    database: Database, database_url: str
) -> None:
    """The grace after an outage ends."""
    with planning(database_url):
        with serving(database_url, "--no-planner") as (url, process):
            httpx.post(
                f"{url}/studies", json=SPEC | {"lease_s": 1.0}
            ).raise_for_status()
            ask = {
                "worker": "a",
                "studies": ["plate"],
                "objectives": ["stiffness"],
                "wait_s": 30,
            }
            (job,) = httpx.post(f"{url}/ask", json=ask, timeout=60).json()["jobs"]
            process.kill()
            process.wait()
        let_pass(database, 600.0)
        with serving(database_url, "--no-planner") as (url, _):
            eventually(lambda: ("expired", 1) in attempts_of(database), "the expiry")
            said = {"job": job["job"], "lease": job["lease"], "value": 1.0}
            assert (
                "still missing" in httpx.post(f"{url}/tell", json=said).json()["detail"]
            )


@pytest.mark.slow
def test_a_lease_survives_a_real_outage(database: Database, database_url: str) -> None:
    # Longer than a planner trusts the recorded uptime after the server has ended
    lease_s = 8.0
    with planning(database_url):
        with serving(database_url, "--no-planner") as (url, process):
            httpx.post(
                f"{url}/studies", json=SPEC | {"lease_s": lease_s}
            ).raise_for_status()
            ask = {
                "worker": "a",
                "studies": ["plate"],
                "objectives": ["stiffness"],
                "max_jobs": 6,
                "wait_s": 30,
            }
            held = httpx.post(f"{url}/ask", json=ask, timeout=60).json()["jobs"]
            process.kill()
            process.wait()
        time.sleep(lease_s + 4.0)
        with serving(database_url, "--no-planner") as (url, _):
            other = httpx.post(
                f"{url}/ask", json=ask | {"worker": "b", "wait_s": 1}, timeout=60
            ).json()
            leases = {"leases": [job["lease"] for job in held]}
            alive = httpx.post(f"{url}/heartbeat", json=leases).json()["leases"]
    assert other["jobs"] == []
    assert [one["cancel"] for one in alive] == [False] * len(held)


def attempts_of(database: Database) -> list[tuple[str | None, int]]:
    with database.read() as connection:
        rows = connection.execute(
            select(attempts.c.outcome, attempts.c.number).order_by(attempts.c.id)
        )
        return [(row.outcome, row.number) for row in rows]
