"""The broadcaster of events: shared reads, listeners that fall behind, and the ends of
streams.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from app.api.batching import event_broadcaster, event_topic
from app.api.batching.event_broadcaster import EventBroadcaster
from app.api.server_sent_events import HEARTBEAT
from app.errors import StateChanged
from app.service.monitoring.events import begin_study
from app.service.studies.lifecycle import create, delete, pause, resume
from app.store.database import Database
from counterpoise.wire.specification import parse_specification
from tests.api.wing import SPEC
from tests.executed_statements import executed_statements

LISTENERS = 300


@asynccontextmanager
async def started_broadcaster(database: Database) -> AsyncIterator[EventBroadcaster]:
    broadcaster = EventBroadcaster(database)
    broadcaster.start()
    yield broadcaster
    await broadcaster.stop()


@pytest.fixture(autouse=True)
def study(database: Database) -> None:
    create(database, parse_specification(SPEC), 60.0)


def test_idle_listeners_issue_no_queries_of_their_own(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_broadcaster, "HEARTBEAT_S", 0.2)

    async def scenario(executed: list[str]) -> tuple[int, int]:
        chunks: list[bytes] = []
        start = begin_study(database, "wing", None, None)
        async with started_broadcaster(database) as broadcaster:

            async def listen() -> None:
                chunks.extend(
                    [chunk async for chunk in broadcaster.listen(start, follow=True)]
                )

            tasks = [asyncio.create_task(listen()) for _ in range(LISTENERS)]
            while (
                broadcaster.listeners < LISTENERS
                or broadcaster.topics[start.study].complete_after is None
            ):
                await asyncio.sleep(0.05)
            before = len(executed)
            await asyncio.sleep(2.0)
            during = len(executed) - before
        await asyncio.gather(*tasks)
        return during, chunks.count(HEARTBEAT)

    with executed_statements() as executed:
        during, heartbeats = asyncio.run(scenario(executed))
    assert 0 < during < 40  # two polls a second for all of them
    assert heartbeats > LISTENERS


def test_a_listener_that_falls_behind_continues_from_the_database(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_topic, "MOST_RECENT", 3)
    monkeypatch.setattr(event_topic, "MOST_AT_ONCE", 2)

    async def scenario() -> bytes:
        stream = b""
        async with started_broadcaster(database) as broadcaster:
            start = begin_study(database, "wing", None, 0)
            async with aclosing(broadcaster.listen(start, follow=True)) as chunks:
                async for chunk in chunks:
                    stream += chunk
                    if b"event: step_due" in stream and b"event: paused" not in stream:
                        for _ in range(6):
                            await asyncio.to_thread(pause, database, "wing")
                            await asyncio.to_thread(resume, database, "wing")
                        await broadcaster.refresh()
                    if stream.count(b"event: resumed") == 6:
                        break
        return stream

    stream = asyncio.run(scenario())
    assert [f"-{number}\nevent: ".encode() in stream for number in range(1, 15)] == [
        True
    ] * 14
    assert stream.count(b"event: paused") == 6


def test_the_deletion_of_a_study_ends_its_streams(database: Database) -> None:
    async def scenario() -> list[bytes]:
        chunks: list[bytes] = []
        async with started_broadcaster(database) as broadcaster:
            start = begin_study(database, "wing", None, None)
            async for chunk in broadcaster.listen(start, follow=True):
                if not chunks:
                    await asyncio.to_thread(delete, database, "wing", force=False)
                chunks.append(chunk)
            assert broadcaster.listeners == 0
        return chunks

    assert b"event: deleted" in asyncio.run(scenario())[-1]


def test_an_error_closes_the_stream_with_its_reason(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise StateChanged("rows have changed")

    monkeypatch.setattr(event_broadcaster, "study_page", fail)

    async def scenario() -> list[bytes]:
        async with started_broadcaster(database) as broadcaster:
            start = begin_study(database, "wing", None, None)
            return [chunk async for chunk in broadcaster.listen(start, follow=True)]

    last = asyncio.run(scenario())[-1]
    assert b"event: closed\n" in last
    assert b"rows have changed; connect again" in last
