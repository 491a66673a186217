"""Event streams: one reader serves all listeners of this process; none has a thread,
connection or query of its own.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from app.api.batching.event_topic import EventTopic
from app.api.server_sent_events import HEARTBEAT, encode_event, encode_start
from app.errors import CounterpoiseError, StateChanged
from app.logs import first_line
from app.service.monitoring.events import (
    Event,
    Page,
    Start,
    feed_page,
    number_new_events,
    study_page,
)
from app.store.database import Database
from counterpoise.wire.codes import EventKind

log = structlog.stdlib.get_logger("counterpoise.events")
POLL_S = 0.5
LINGER_S = 60.0  # polling goes on after the last listener, who may reconnect
HEARTBEAT_S = 15.0
PAGE_SIZE = 500
MOST_PAGE_READS = 2  # at the same time
STOPPING = "the server is stopping; connect again"


@dataclass(slots=True)
class EventBroadcaster:
    """While there are listeners, one task polls the database for new events and
    publishes them to all topics.
    """

    database: Database
    topics: dict[int | None, EventTopic] = field(default_factory=dict)  # by study
    _published: int | None = (
        # the last number of the feed that topics have; None while there is no polling
        None
    )
    _study_sequences: dict[int, int] = field(default_factory=dict)
    _poll_until: float = 0.0
    _refreshes: list["asyncio.Future[None]"] = field(default_factory=list)
    _page_reads: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(MOST_PAGE_READS)
    )
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _task: "asyncio.Task[None] | None" = None

    @property
    def listeners(self) -> int:
        return sum(topic.listeners for topic in self.topics.values())

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """End all streams: the server is about to stop."""
        self._closing.set()
        self._wake.set()
        for topic in self.topics.values():
            topic.notify()

    async def stop(self) -> None:
        self.close()
        if self._task is not None:
            await self._task  # not cancelled: its thread still uses the database

    async def refresh(self) -> int:
        """Publish all events up to now; returns the last number of the feed."""
        if self._closing.is_set():
            raise StateChanged(STOPPING)
        self._poll_until = time.monotonic() + LINGER_S
        refreshed = asyncio.get_running_loop().create_future()
        self._refreshes.append(refreshed)
        self._wake.set()
        await refreshed
        return self._published or 0

    async def listen(
        self, start: Start, *, follow: bool
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of a stream, until the server stops, the study is deleted or the
        client disconnects.
        """
        topic = self.topics.setdefault(start.study, EventTopic(start.study))
        topic.listeners += 1
        try:
            if (
                self._published is None
            ):  # polling must begin before the stream does, or it misses events
                await self.refresh()
            yield encode_start(start.study, start.position)
            if start.reset:
                yield topic.encode(
                    start.position, EventKind.RESET, {"reason": start.reset}
                )
            async for events in self._stream(topic, start, follow):
                yield events
        except CounterpoiseError as error:
            yield encode_event(
                None, EventKind.CLOSED, {"reason": f"{error}; connect again"}
            )
        finally:
            topic.listeners -= 1
            if not topic.listeners:
                self.topics.pop(start.study, None)

    async def _stream(
        self, topic: EventTopic, start: Start, follow: bool
    ) -> AsyncIterator[bytes]:
        position = start.position
        while not self._closing.is_set():
            changed = topic.changed
            is_deleted, has_more = topic.is_deleted, False
            recent = topic.events_after(position)
            if recent is not None:
                position, events = recent
            else:
                page, events = await self._page_after(topic, position)
                position, is_deleted, has_more = (
                    page.position,
                    page.study_deleted,
                    page.more,
                )
                if not has_more and topic.complete_after is None:
                    topic.complete_after = position
            if events:
                yield events
            elif is_deleted:
                yield encode_event(
                    None,
                    EventKind.DELETED,
                    {"study": start.name, "kind": EventKind.DELETED},
                )
                return
            elif not has_more:
                if not follow:
                    return
                try:
                    async with asyncio.timeout(HEARTBEAT_S):
                        await changed.wait()
                except TimeoutError:
                    yield HEARTBEAT
        yield encode_event(None, EventKind.CLOSED, {"reason": STOPPING})

    async def _page_after(self, topic: EventTopic, position: int) -> tuple[Page, bytes]:
        """Events from the database; listeners at the same position share the query."""
        if position not in topic.page_reads:
            topic.page_reads[position] = asyncio.create_task(
                self._read_page(topic, position)
            )
            topic.page_reads[position].add_done_callback(
                lambda _: topic.page_reads.pop(position)
            )
        return await asyncio.shield(topic.page_reads[position])

    async def _read_page(self, topic: EventTopic, position: int) -> tuple[Page, bytes]:
        async with self._page_reads:
            if topic.study is None:
                page = await asyncio.to_thread(
                    feed_page, self.database, position, PAGE_SIZE
                )
            else:
                page = await asyncio.to_thread(
                    study_page, self.database, topic.study, position, PAGE_SIZE
                )
        events = [
            topic.encode(event.position, event.kind, event.data)
            for event in page.events
        ]
        return page, b"".join(events)

    async def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            if self.topics or self._refreshes or time.monotonic() < self._poll_until:
                await self._poll()
            else:
                self._published = None
            is_idle = (
                self._published is None
                and not self.topics
                and time.monotonic() >= self._poll_until
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), None if is_idle else POLL_S)
        for refreshed in self._refreshes:
            refreshed.set_exception(StateChanged(STOPPING))

    async def _poll(self) -> None:
        refreshes, self._refreshes = self._refreshes, []
        failure: Exception | None = None
        try:
            await self._publish_new_events()
        except Exception as error:  # noqa: BLE001  no error may end the task
            failure = error
            log.warning(
                "events were not read; trying again",
                reason=first_line(error),
                retry_s=POLL_S,
            )
        for refreshed in refreshes:
            if refreshed.done():
                continue
            if failure is None:
                refreshed.set_result(None)
            else:
                refreshed.set_exception(failure)

    async def _publish_new_events(self) -> None:
        known = self._study_sequences
        self._study_sequences, last = await asyncio.to_thread(
            number_new_events, self.database, known
        )
        if self._published is None:
            self._published = last
        while self._published < last:
            page = await asyncio.to_thread(
                feed_page, self.database, self._published, PAGE_SIZE
            )
            self._publish(page)
            self._published = page.position

    def _publish(self, page: Page) -> None:
        all_studies = self.topics.get(None)
        changed = {all_studies} if all_studies else set()
        for event in page.events:
            if (
                event.kind == EventKind.RESET
            ):  # some events are no longer kept: all listeners read the database again
                for topic in self.topics.values():
                    topic.clear()
                changed.update(self.topics.values())
                continue
            if all_studies:
                all_studies.append(event.position, event.kind, event.data)
            if event.study_id in self.topics:
                own = self.topics[event.study_id]
                self._publish_to_study(own, event)
                changed.add(own)
        for topic in changed:
            topic.notify()

    def _publish_to_study(self, topic: EventTopic, event: Event) -> None:
        if event.kind == EventKind.DELETED:
            topic.is_deleted = True
        else:
            topic.append(event.data["seq"], event.kind, event.data)
