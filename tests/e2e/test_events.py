"""Event listeners: none misses an event or gets one twice, and they cost next to
nothing.
"""

import asyncio
import random
import signal
import threading
from collections import Counter
from contextlib import aclosing, suppress
from typing import Any

import psutil
import pytest
from sqlalchemy import text

from app.api.batching import event_broadcaster
from app.planner.planner import plan_one
from app.service.studies.lifecycle import create, delete, pause
from app.store.database import Database
from counterpoise.wire.specification import parse_specification
from tests.e2e.event_listener import ReceivedEvent, listen
from tests.e2e.plate_study import SPEC
from tests.e2e.processes import PATIENCE_S, eventually, serving
from tests.e2e.test_processes import work_off

LISTENERS = 1000
NAMES = ("plate", "wing")


def spec(name: str) -> Any:
    return parse_specification({**SPEC, "name": name, "budget": 8})


@pytest.mark.slow_on("sqlite")
def test_nothing_is_lost_or_doubled_by_listeners_that_come_and_go(
    database: Database, database_url: str, backend: str
) -> None:
    """Two servers, tells and steps in several threads, and listeners that break off and
    resume elsewhere.
    """
    with (
        serving(database_url, "--no-planner") as (here, _),
        serving(database_url, "--no-planner") as (there, _),
    ):
        asyncio.run(check_reconnecting_listeners(database, [here, there]))


async def check_reconnecting_listeners(database: Database, urls: list[str]) -> None:
    create(database, spec("plate"), 60.0)
    stop = asyncio.Event()
    paths = ["/studies/plate/events?after=0", "/events?after=0", "/events?after=0"]
    listeners = [
        asyncio.create_task(reconnecting_listener(urls, path, k, stop))
        for k, path in enumerate(paths)
    ]
    await asyncio.to_thread(act, database)
    stop.set()
    own, *of_all_studies = await asyncio.gather(*listeners)
    with database.read() as connection:
        rows = connection.execute(text("SELECT name, sequence FROM studies")).all()
    ends = {row.name: row.sequence for row in rows}
    wanted = set()
    for row in rows:
        wanted |= {(row.name, seq) for seq in range(1, row.sequence + 1)}
    assert [data["seq"] for _, _, data in own] == list(range(1, ends["plate"] + 1))
    for events in of_all_studies:
        received = [
            (data["study"], data["seq"])
            for _, kind, data in events
            if kind != "deleted"
        ]
        assert len(set(received)) == len(received)
        assert {event for event in received if event[0] != "short"} == wanted
        assert [data["study"] for _, kind, data in events if kind == "deleted"] == [
            "short"
        ]
        for name in NAMES:
            mine = [seq for study, seq in received if study == name]
            assert mine == sorted(mine)
    # A client that connects later does not receive the events of a deleted study, but
    # every client receives its deletion.
    lasting = [without_deleted_study(events) for events in of_all_studies]
    assert lasting[0] == lasting[1]


def without_deleted_study(events: list[Any]) -> list[Any]:
    return [
        event
        for event in events
        if event[2]["study"] != "short" or event[1] == "deleted"
    ]


def act(database: Database) -> None:
    """Creates studies, works them off with two threads, and deletes one."""
    create(database, spec("wing"), 60.0)
    create(database, spec("short"), 60.0)
    pause(database, "short")
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            if not work_off(database):
                over.wait(0.01)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    delete(database, "short", force=True)
    try:
        eventually(
            lambda: not plan_one(database) and finished(database),
            "the studies to finish",
        )
    finally:
        over.set()
        for thread in threads:
            thread.join()


def finished(database: Database) -> bool:
    with database.read() as connection:
        return set(connection.execute(text("SELECT phase FROM studies")).scalars()) == {
            "finished"
        }


async def reconnecting_listener(
    urls: list[str], path: str, seed: int, stop: asyncio.Event
) -> list[ReceivedEvent]:
    """Breaks off at random, even in the middle of a burst, and resumes at any server,
    until all is told.
    """
    rng, last_id = random.Random(seed), None  # noqa: S311
    told: list[ReceivedEvent] = []

    async def session(patience: float, more: str = "") -> None:
        nonlocal last_id
        async with aclosing(listen(rng.choice(urls), path + more, last_id)) as stream:
            async for name, kind, data in stream:
                last_id = name or last_id
                if kind != "begin":
                    told.append((name, kind, data))
                    patience -= 1
                if patience == 0:
                    return

    stopped = asyncio.create_task(stop.wait())
    while not stop.is_set():
        one = asyncio.create_task(session(rng.randrange(1, 60)))
        await asyncio.wait({one, stopped}, return_when=asyncio.FIRST_COMPLETED)
        one.cancel()
        with suppress(asyncio.CancelledError):
            await one
    await session(float("inf"), "&follow=false")
    return told


@pytest.mark.slow_on("sqlite")
def test_a_thousand_listeners_hold_neither_threads_nor_connections(
    database: Database, database_url: str, backend: str
) -> None:
    create(database, spec("plate"), 60.0)
    with serving(database_url, "--no-planner") as (url, process):
        asyncio.run(many_listen(url, process.pid, database, backend))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) in (0, -signal.SIGTERM)


async def many_listen(url: str, pid: int, database: Database, backend: str) -> None:
    server, begun, paused = psutil.Process(pid), 0, 0

    async def one(path: str) -> str:
        nonlocal begun, paused
        async for _, kind, data in listen(url, path):
            begun += kind == "begin"
            paused += kind == "paused"
            if kind == "closed":
                return str(data["reason"])
        return "nothing"

    paths = ["/events", "/studies/plate/events"]
    tasks = [asyncio.create_task(one(paths[k % 2])) for k in range(LISTENERS)]
    await until(lambda: begun == LISTENERS)
    assert server.num_threads() <= 64  # not one each
    if backend == "postgresql":
        with database.read() as connection:
            query = text(
                "SELECT state, count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"
            )
            states = Counter({row[0]: row[1] for row in connection.execute(query)})
        # This test, the server's pool and its watcher
        assert states.total() <= 1 + 10 + 1
        assert states["active"] + states["idle in transaction"] <= 4
    await asyncio.to_thread(pause, database, "plate")
    await until(lambda: paused == LISTENERS)
    server.terminate()  # which ends them
    assert Counter(await asyncio.gather(*tasks)) == {
        event_broadcaster.STOPPING: LISTENERS
    }


async def until(look: Any) -> None:
    async with asyncio.timeout(2 * PATIENCE_S):
        while not look():
            await asyncio.sleep(0.05)
