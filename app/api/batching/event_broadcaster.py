"""Event streams: one reader serves all listeners of this process, who wait without thread, connection or query."""

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from fastapi.responses import StreamingResponse
from starlette.types import Send

from app.errors import CounterpoiseError, StateChanged
from app.service.monitoring.events import Event, Page, Start, feed_page, number_new_events, study_page
from app.store.database import Database

log = structlog.stdlib.get_logger("counterpoise.events")
POLL_S = 0.5
LINGER_S = 60.0  # how long the reader goes on after the last listener: it may be about to come back
HEARTBEAT_S = 15.0
SEND_S = 30.0  # whoever takes nothing for so long is sent away, and may resume
PAGE = 500
RECENT = 1000
AT_ONCE = 100
READS_AT_ONCE = 2
# Some proxies hold back the first kilobytes of an answer.
PREAMBLE = b"retry: 2000\n: " + b"." * 2048 + b"\n\n"
HEARTBEAT = b": still here\n\n"
STOPPING = "the server is stopping; connect again"


class EventStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})

    async def stream_response(self, send: Send) -> None:
        async def send_or_leave(message: Any) -> None:
            async with asyncio.timeout(SEND_S):
                await send(message)

        try:
            await super().stream_response(send_or_leave)
        except TimeoutError:
            log.warning("a listener was sent away", reason=f"it took nothing for {SEND_S:g} s")


@dataclass(slots=True, eq=False)
class Topic:
    """What the listeners of one study (None: of all) share: the latest events, written out once."""

    study: int | None
    listeners: int = 0
    over: bool = False  # the study was deleted
    since: int | None = None  # `recent` holds all that came after this position
    recent: deque[tuple[int, bytes]] = field(default_factory=deque)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    reading: dict[int, "asyncio.Task[tuple[Page, bytes]]"] = field(default_factory=dict)

    def put(self, position: int, words: bytes) -> None:
        self.since = position - 1 if self.since is None else self.since
        self.recent.append((position, words))
        if len(self.recent) > RECENT:
            self.since = self.recent.popleft()[0]

    def after(self, position: int) -> tuple[int, bytes] | None:
        """The next events and the position behind them; None if they are no longer, or not yet, here."""
        if self.since is None or position < self.since:
            return None
        later = []
        for one in reversed(self.recent):
            if one[0] <= position:
                break
            later.append(one)
        some = later[: -AT_ONCE - 1 : -1]
        return (some[-1][0] if some else position), b"".join(words for _, words in some)

    def forget(self) -> None:
        self.since = None
        self.recent.clear()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(slots=True)
class EventDesk:
    """Where listeners sit. While there are any, one task asks the database twice a second what is new for all."""

    database: Database
    topics: dict[int | None, Topic] = field(default_factory=dict)
    head: int | None = None  # how far the feed has been told; None while nobody listens
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    _known: dict[int, int] = field(default_factory=dict)
    _wanted_until: float = 0.0
    _poke: asyncio.Event = field(default_factory=asyncio.Event)
    _awaited: list["asyncio.Future[None]"] = field(default_factory=list)
    _reads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READS_AT_ONCE))
    _task: "asyncio.Task[None] | None" = None

    @property
    def listeners(self) -> int:
        return sum(topic.listeners for topic in self.topics.values())

    def start(self) -> None:
        self._task = asyncio.create_task(self._read())

    def close(self) -> None:
        """The server is about to stop: streams end."""
        self.closing.set()
        self._poke.set()
        for topic in self.topics.values():
            topic.wake()

    async def stop(self) -> None:
        self.close()
        if self._task is not None:
            await self._task  # not cancelled: its thread would outlive the database

    async def refresh(self) -> int:
        """Number and tell all that has happened until now; answers the feed's last number."""
        if self.closing.is_set():
            raise StateChanged(STOPPING)
        self._wanted_until = time.monotonic() + LINGER_S
        done = asyncio.get_running_loop().create_future()
        self._awaited.append(done)
        self._poke.set()
        await done
        return self.head or 0

    async def listen(self, start: Start, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """A stream's bytes, until the server stops, the study is deleted or the client leaves."""
        topic = self.topics.setdefault(start.study, Topic(start.study))
        topic.listeners += 1
        try:
            if self.head is None:  # else what happens from here on would be told to nobody
                await self.refresh()
            yield PREAMBLE + b"id: " + name_of(start.study, start.position).encode() + b"\n\n"
            if start.reset:
                yield write(start.study, start.position, "reset", {"reason": start.reset})
            async for words in self._follow(topic, start, follow):
                yield words
        except CounterpoiseError as error:
            yield write(start.study, None, "closed", {"reason": f"{error}; connect again"})
        finally:
            topic.listeners -= 1
            if not topic.listeners:
                self.topics.pop(start.study, None)

    async def _follow(self, topic: Topic, start: Start, follow: bool) -> AsyncIterator[bytes]:
        position = start.position
        while not self.closing.is_set():
            changed, over, more = topic.changed, topic.over, False
            found = topic.after(position)
            if found is None:
                page, words = await self._page(topic, position)
                position, over, more = page.position, page.study_deleted, page.more
                if not more and topic.since is None:
                    topic.since = position  # whatever is later will be told
            else:
                position, words = found
            if words:
                yield words
            elif over:
                yield write(start.study, None, "deleted", {"study": start.name, "kind": "deleted"})
                return
            elif not follow and not more:
                return
            elif not more:
                try:
                    async with asyncio.timeout(HEARTBEAT_S):
                        await changed.wait()
                except TimeoutError:
                    yield HEARTBEAT
        yield write(start.study, None, "closed", {"reason": STOPPING})

    async def _page(self, topic: Topic, position: int) -> tuple[Page, bytes]:
        """Those who need the same page share it."""
        if position not in topic.reading:
            topic.reading[position] = asyncio.create_task(self._read_page(topic, position))
            topic.reading[position].add_done_callback(lambda _: topic.reading.pop(position))
        return await asyncio.shield(topic.reading[position])

    async def _read_page(self, topic: Topic, position: int) -> tuple[Page, bytes]:
        async with self._reads:
            if topic.study is None:
                page = await asyncio.to_thread(feed_page, self.database, position, PAGE)
            else:
                page = await asyncio.to_thread(study_page, self.database, topic.study, position, PAGE)
        return page, b"".join(write(topic.study, one.position, one.kind, one.data) for one in page.events)

    async def _read(self) -> None:
        while not self.closing.is_set():
            self._poke.clear()
            if self.topics or self._awaited or time.monotonic() < self._wanted_until:
                await self._round()
            else:
                self.head = None
            idle = not self.topics and time.monotonic() >= self._wanted_until
            with suppress(TimeoutError):
                await asyncio.wait_for(self._poke.wait(), None if idle and self.head is None else POLL_S)
        for done in self._awaited:
            done.set_exception(StateChanged(STOPPING))

    async def _round(self) -> None:
        awaited, self._awaited = self._awaited, []
        error: Exception | None = None
        try:
            self._known, last = await asyncio.to_thread(number_new_events, self.database, self._known)
            self.head = last if self.head is None else self.head
            while self.head < last:
                page = await asyncio.to_thread(feed_page, self.database, self.head, PAGE)
                self._tell(page)
                self.head = page.position
        except Exception as trouble:  # noqa: BLE001  whatever it is, the next round must come
            error = trouble
            log.warning("events could not be read; trying again", reason=str(trouble).splitlines()[0])
        for done in awaited:
            if not done.done():
                done.set_result(None) if error is None else done.set_exception(error)

    def _tell(self, page: Page) -> None:
        everything = self.topics.get(None)
        touched = {everything} if everything else set()
        for event in page.events:
            if event.kind == "reset":  # trimmed before it was told: let everybody look for themselves
                for topic in self.topics.values():
                    topic.forget()
                touched |= set(self.topics.values())
                continue
            if everything:
                everything.put(event.position, write(None, event.position, event.kind, event.data))
            if event.study_id in self.topics:
                self._tell_study(self.topics[event.study_id], event)
                touched.add(self.topics[event.study_id])
        for topic in touched:
            topic.wake()

    def _tell_study(self, topic: Topic, event: Event) -> None:
        if event.kind == "deleted":
            topic.over = True
        else:
            topic.put(event.data["seq"], write(topic.study, event.data["seq"], event.kind, event.data))


def name_of(study: int | None, position: int) -> str:
    """An event's id; a study's own tells another study of the same name from it."""
    return str(position) if study is None else f"{study}-{position}"


def write(study: int | None, position: int | None, kind: str, data: dict[str, Any]) -> bytes:
    head = "" if position is None else f"id: {name_of(study, position)}\n"
    return f"{head}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
