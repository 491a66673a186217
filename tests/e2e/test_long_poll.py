"""Waiting workers: a job finds them wherever it was made, and they cost next to
nothing.
"""

import asyncio
import time
from collections import Counter

import httpx
import psutil
import pytest
from sqlalchemy import text

from app.planner.planner import plan_one
from app.service.studies.lifecycle import create
from app.service.work.ask import serve_asks
from app.store.database import Database
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.work import Ask, Job
from tests.e2e.plate_study import SPEC
from tests.e2e.processes import eventually, serving
from tests.e2e.waiting_ask import waiting_ask

WAITING = 250


def lease_all(database: Database) -> list[Job]:
    """A study all of whose jobs are leased."""
    create(database, parse_specification(SPEC), 60.0)
    plan_one(database)
    (jobs,) = serve_asks(
        database,
        [Ask(worker="holds all", studies=["*"], objectives=["*"], max_jobs=256)],
        20.0,
    )
    return jobs


@pytest.mark.slow_on("sqlite")
def test_a_job_reaches_a_waiting_worker_from_another_process(
    database: Database,
    database_url: str,
    backend: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Given back at one server, the job is with the worker that waits at another one in
    a moment.
    """
    held = lease_all(database)
    took = []
    with (
        serving(database_url, "--no-planner") as (here, _),
        serving(database_url, "--no-planner") as (there, _),
    ):
        for job in held[:5]:
            with waiting_ask(here, "plate", job.objective) as waiting:
                time.sleep(0.2)
                assert not waiting.done()
                began = time.monotonic()
                httpx.post(
                    f"{there}/release", json={"leases": [job.lease]}
                ).raise_for_status()
                answer, at = waiting.result(30)
            assert [one["job"] for one in answer["jobs"]] == [job.job]
            took.append(at - began)
    with capsys.disabled():
        print(  # noqa: T201
            f"\nfrom release to the waiting worker, {backend}: {', '.join(f'{t * 1000:.0f}' for t in took)} ms"
        )
    assert min(took) < 1.0  # a wake-up, not the slow poll of a loaded machine


@pytest.mark.slow_on("sqlite")
def test_waiting_workers_hold_neither_threads_nor_connections(
    database: Database, database_url: str, backend: str
) -> None:
    lease_all(database)
    with serving(database_url, "--no-planner") as (url, process):
        server = psutil.Process(process.pid)
        with waiting_ask(url, "plate") as one:
            few = server.num_threads()
            assert not one.done()
            asyncio.run(
                many_wait(
                    url, server, few, database if backend == "postgresql" else None
                )
            )
            assert not one.done()
            process.terminate()  # which answers it


async def many_wait(
    url: str, server: psutil.Process, few: int, database: Database | None
) -> None:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        body = {"studies": ["plate"], "objectives": ["*"], "wait_s": 60}
        asks = [
            asyncio.create_task(client.post("/ask", json={"worker": f"w{k}", **body}))
            for k in range(WAITING)
        ]
        await asyncio.to_thread(
            eventually,
            lambda: len(server.net_connections()) > WAITING,
            "all connections",
        )
        await asyncio.sleep(2.0)  # all have had their first look
        assert not any(ask.done() for ask in asks)
        # The pool for looks, whatever their number
        assert server.num_threads() <= few + 10
        if database is not None:
            with database.read() as connection:
                query = text(
                    "SELECT state, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"
                )
                states = Counter({row[0]: row[1] for row in connection.execute(query)})
            # This test, the server's pool and its listener
            assert states.total() <= 1 + 10 + 1
            assert states["active"] + states["idle in transaction"] <= 3
        for ask in asks:
            ask.cancel()
        await asyncio.gather(*asks, return_exceptions=True)
