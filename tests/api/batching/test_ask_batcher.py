"""The batcher of asks: errors, slow queries, shutdown, and the cost of waiting."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from app.api.batching.ask_batcher import AskBatcher
from app.errors import DatabaseUnusable
from app.service.work.ask import any_jobs_for, serve_asks
from app.service.work.release import release
from app.store.database import Database
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.work import Ask, Asked
from tests.api.wing import Wing
from tests.executed_statements import executed_statements

T = TypeVar("T")
MODULE = "app.api.batching.ask_batcher"
PATIENCE_S = 60
WAITING = 250


def ask_for(objective: str, wait_s: float) -> Ask:
    return Ask(worker=objective, studies=["*"], objectives=[objective], wait_s=wait_s)


def run(scenario: Callable[[], Awaitable[T]]) -> T:
    async def in_time() -> T:
        async with asyncio.timeout(PATIENCE_S):
            return await scenario()

    return asyncio.run(in_time())


@asynccontextmanager
async def started_batcher(database: Database) -> AsyncIterator[AskBatcher]:
    batcher = AskBatcher(database, 20.0)
    batcher.start()
    yield batcher
    await batcher.stop()


def start_ask(batcher: AskBatcher, ask: Ask) -> "asyncio.Task[Asked]":
    never_disconnected = asyncio.get_running_loop().create_future()
    return asyncio.create_task(batcher.ask(ask, never_disconnected))


async def until_waiting(batcher: AskBatcher) -> None:
    """Until there are asks, and all have been served once without a job."""
    while not batcher.pending or any(pending.is_new for pending in batcher.pending):
        await asyncio.sleep(0.01)


def unusable(*_: object) -> None:
    raise DatabaseUnusable("the database was unplugged")


class Blocked:
    """A function that another thread calls and the test lets return."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._called, self._released = threading.Event(), threading.Event()

    def __call__(self, *arguments: Any) -> Any:
        result = self._function(*arguments)
        self._called.set()
        assert self._released.wait(PATIENCE_S)
        return result

    async def called(self) -> None:
        assert await asyncio.to_thread(self._called.wait, PATIENCE_S)

    def release(self) -> None:
        self._released.set()


def test_an_error_for_unserved_asks_does_not_lose_the_jobs_of_others(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{MODULE}.drained_workers", unusable)

    async def scenario() -> list[int]:
        batcher = AskBatcher(wing.database, 20.0)
        tasks = [
            start_ask(batcher, ask_for(objective, 1.0))
            for objective in ("mass", "none")
        ]
        batcher.start()  # both asks are pending: they are served together
        results = await asyncio.gather(*tasks)
        await batcher.stop()
        return [len(result.jobs) for result in results]

    assert run(scenario) == [1, 0]


def test_looking_for_jobs_does_not_block_writes(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query may have to wait for a connection."""
    look = Blocked(lambda *_: False)
    monkeypatch.setattr(f"{MODULE}.any_jobs_for", look)

    async def scenario() -> None:
        async with started_batcher(wing.database) as batcher:
            waiting = start_ask(batcher, ask_for("none", 60.0))
            await look.called()
            async with asyncio.timeout(10):
                await asyncio.to_thread(wing.database.write, record_uptime)
            look.release()
        await waiting

    run(scenario)


def test_new_asks_are_served_while_a_query_for_waiting_ones_runs(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Blocked(lambda *_: False)
    monkeypatch.setattr(f"{MODULE}.any_jobs_for", look)

    async def scenario() -> int:
        async with started_batcher(wing.database) as batcher:
            waiting = start_ask(batcher, ask_for("none", 60.0))
            await look.called()
            result = await asyncio.wait_for(
                start_ask(batcher, ask_for("mass", 10.0)), 10
            )
            look.release()
        await waiting
        return len(result.jobs)

    assert run(scenario) == 1


def test_waiting_asks_are_served_after_errors(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def unusable_twice(*arguments: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls < 3:
            unusable()
        return any_jobs_for(*arguments)

    monkeypatch.setattr(f"{MODULE}.any_jobs_for", unusable_twice)

    async def scenario() -> int:
        held = wing.ask("mass", max_jobs=50)["jobs"]
        async with started_batcher(wing.database) as batcher:
            waiting = start_ask(batcher, ask_for("mass", 60.0))
            await until_waiting(batcher)
            await asyncio.to_thread(release, wing.database, [held[0]["lease"]])
            return len((await waiting).jobs)

    assert run(scenario) == 1
    assert calls >= 3


def test_closing_ends_waits_and_returns_jobs_that_are_being_leased(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = Blocked(serve_asks)
    monkeypatch.setattr(f"{MODULE}.serve_asks", lease)

    async def scenario() -> list[Any]:
        async with started_batcher(wing.database) as batcher:
            waiting = start_ask(batcher, ask_for("*", 60.0))
            await lease.called()
            batcher.close()
            results = [await waiting, await start_ask(batcher, ask_for("*", 0.0))]
            lease.release()
        return [result.jobs for result in results]

    assert run(scenario) == [[], []]
    objectives = wing.get("")["objectives"]
    assert [objective["leased"] for objective in objectives] == [0, 0, 0]


def test_waiting_asks_issue_no_queries_of_their_own(wing: Wing) -> None:
    wing.ask(max_jobs=256)

    async def scenario(executed: list[str]) -> int:
        async with started_batcher(wing.database) as batcher:
            asks = [
                Ask(worker=f"w{k}", studies=["*"], objectives=["*"], wait_s=60)
                for k in range(WAITING)
            ]
            tasks = [start_ask(batcher, ask) for ask in asks]
            await until_waiting(batcher)
            before = len(executed)
            await asyncio.sleep(2.5)
            during = len(executed) - before
        await asyncio.gather(*tasks)
        return during

    with executed_statements() as executed:
        during = run(lambda: scenario(executed))
    # One query a second for all of them; the application of the fixture polls, too
    assert 0 < during < 40
