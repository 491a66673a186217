"""The batcher of asks when something goes wrong, or slowly, beside it."""

import asyncio
import threading

import pytest

from app.api.batching.ask_batcher import AskBatcher
from app.errors import DatabaseUnusable
from app.service.work.ask import any_jobs_for
from app.service.work.release import release
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.work import Ask
from tests.api.wing import Wing


def asking(objective: str, wait_s: float) -> Ask:
    return Ask(worker=objective, studies=["*"], objectives=[objective], wait_s=wait_s)


def test_jobs_reach_their_worker_whatever_becomes_of_those_who_get_none(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise DatabaseUnusable("gone fishing")

    monkeypatch.setattr("app.api.batching.ask_batcher.drained_workers", away)

    async def scene() -> list[int]:
        batcher = AskBatcher(wing.database, 20.0)
        never = asyncio.get_running_loop().create_future()
        asks = [asyncio.create_task(batcher.ask(ask, never)) for ask in (asking("mass", 1.0), asking("none", 1.0))]
        batcher.start()  # now that both are there: they are served together
        answers = await asyncio.gather(*asks)
        await batcher.stop()
        return [len(answer.jobs) for answer in answers]

    assert asyncio.run(asyncio.wait_for(scene(), 60)) == [1, 0]


def test_a_look_for_jobs_holds_up_nobody_who_writes(wing: Wing, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have to wait for a connection while others read for long."""
    looking, written = threading.Event(), threading.Event()

    def slow(*_: object) -> bool:
        looking.set()
        assert written.wait(20)
        return False

    monkeypatch.setattr("app.api.batching.ask_batcher.any_jobs_for", slow)

    async def scene() -> None:
        batcher = AskBatcher(wing.database, 20.0)
        batcher.start()
        never = asyncio.get_running_loop().create_future()
        waits = asyncio.create_task(batcher.ask(asking("none", 60.0), never))
        assert await asyncio.to_thread(looking.wait, 20)
        await asyncio.wait_for(asyncio.to_thread(wing.database.write, record_uptime), 10)
        written.set()
        await batcher.stop()
        await waits

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_who_has_just_come_does_not_wait_for_a_look_after_those_who_wait(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, served = threading.Event(), threading.Event()

    def slow(*_: object) -> bool:
        looking.set()
        assert served.wait(20)
        return False

    monkeypatch.setattr("app.api.batching.ask_batcher.any_jobs_for", slow)

    async def scene() -> int:
        batcher = AskBatcher(wing.database, 20.0)
        batcher.start()
        never = asyncio.get_running_loop().create_future()
        waits = asyncio.create_task(batcher.ask(asking("none", 60.0), never))
        assert await asyncio.to_thread(looking.wait, 20)
        answer = await asyncio.wait_for(batcher.ask(asking("mass", 10.0), never), 10)
        served.set()
        await batcher.stop()
        await waits
        return len(answer.jobs)

    assert asyncio.run(asyncio.wait_for(scene(), 60)) == 1


def test_who_waits_is_looked_after_again_when_the_database_answers_again(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def away_twice(*given: object) -> bool:
        nonlocal looks
        looks += 1
        if looks < 3:
            raise DatabaseUnusable("gone fishing")
        return any_jobs_for(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("app.api.batching.ask_batcher.any_jobs_for", away_twice)

    async def scene() -> int:
        batcher = AskBatcher(wing.database, 20.0)
        held = wing.ask("mass", max_jobs=50)["jobs"]
        batcher.start()
        never = asyncio.get_running_loop().create_future()
        waits = asyncio.create_task(batcher.ask(asking("mass", 60.0), never))
        while batcher.pending == [] or batcher.pending[0].is_new:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(release, wing.database, [held[0]["lease"]])
        answer = await asyncio.wait_for(waits, 30)
        await batcher.stop()
        return len(answer.jobs)

    assert asyncio.run(asyncio.wait_for(scene(), 60)) == 1
    assert looks >= 3
