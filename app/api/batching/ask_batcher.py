"""The long poll: all asks of this process are served together, and wait without thread, connection or query."""

import asyncio
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog

from app.errors import CounterpoiseError
from app.service.work.ask import any_jobs_for, drained_workers, serve_asks
from app.service.work.empty_ask import explain_empty_ask
from app.service.work.release import release
from app.store.database import Database
from app.store.wakeups import watch
from app.store.work.server_uptime import RECORD_EVERY_S, record_uptime
from counterpoise.wire.work import Ask, Asked, Job

log = structlog.stdlib.get_logger("counterpoise.desk")
TICK_S = 1.0


@dataclass(slots=True, eq=False)
class Waiter:
    ask: Ask
    answer: "asyncio.Future[list[Job]]"
    fresh: bool = True  # nobody has looked for it yet
    patient: bool = True  # an empty answer is none
    over: bool = False  # nobody hears the answer any more


@dataclass(slots=True)
class Desk:
    """Where workers queue. One task serves them; one thread learns of changes made by other processes."""

    database: Database
    heartbeat_s: float
    waiters: list[Waiter] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    maybe_ready: bool = True
    _stop: threading.Event = field(default_factory=threading.Event)
    _tasks: list["asyncio.Task[None]"] = field(default_factory=list)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self.wake)

        self._thread = threading.Thread(target=watch, args=(self.database, wake, self._stop), daemon=True)
        self._thread.start()
        self._tasks = [asyncio.create_task(self._serve()), asyncio.create_task(self._beat())]

    def close(self) -> None:
        """The server is about to stop: nobody need wait any longer."""
        self.closing.set()
        self.changed.set()
        for waiter in self.waiters:
            if not waiter.answer.done():
                waiter.answer.set_result([])

    async def stop(self) -> None:
        self.close()
        self._stop.set()
        await asyncio.gather(*self._tasks)  # not cancelled: their threads would outlive the database
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def wake(self) -> None:
        """Something may have become ready."""
        self.maybe_ready = True
        self.changed.set()

    async def ask(self, ask: Ask, leaves: "asyncio.Future[None]") -> Asked:
        """Jobs as soon as there are any, else the reason when the wait is over; `leaves` says that the client left."""
        if self.closing.is_set():  # nobody would serve it
            return await asyncio.to_thread(explain_empty_ask, self.database, ask)
        waiter = Waiter(ask, asyncio.get_running_loop().create_future(), patient=ask.wait_s > 0)
        self.waiters.append(waiter)
        self.changed.set()
        either: set[asyncio.Future[Any]] = {waiter.answer, leaves}
        try:
            await asyncio.wait(either, timeout=ask.wait_s, return_when=asyncio.FIRST_COMPLETED)
            waiter.patient = False
            if waiter.fresh:  # the first look is always waited for; it says whether there is anything at all
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if waiter in self.waiters:
                self.waiters.remove(waiter)
            waiter.over = True
        jobs = waiter.answer.result() if waiter.answer.done() else []
        return Asked(jobs=jobs) if jobs else await asyncio.to_thread(explain_empty_ask, self.database, ask)

    async def _serve(self) -> None:
        """Who has just come is looked after at once; those who wait are beside that, so that neither is in the way."""
        looked = time.monotonic()
        again: asyncio.Task[None] | None = None
        while not self.closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), TICK_S)
            now = time.monotonic()
            if now - looked > TICK_S:  # back-offs end without a word
                self.maybe_ready, looked = True, now
            self.changed.clear()
            if self.maybe_ready and (again is None or again.done()):
                self.maybe_ready = False
                waiting = [w for w in self.waiters if not w.fresh]
                again = asyncio.create_task(self._look_again(waiting)) if waiting else None
            await self._round([w for w in self.waiters if w.fresh])
        if again is not None:
            await again

    async def _look_again(self, group: Sequence[Waiter]) -> None:
        if not await self._round(group):
            self.maybe_ready = True
            with suppress(TimeoutError):
                await asyncio.wait_for(self.closing.wait(), TICK_S)
        if self.maybe_ready:  # something came in the meantime
            self.changed.set()

    async def _round(self, group: Sequence[Waiter]) -> bool:
        """Serve these; False if the database does not answer."""
        if not group:
            return True
        try:
            shares, in_vain = await self._lease([w.ask for w in group], any(w.fresh for w in group))
        except Exception as error:  # noqa: BLE001  whatever it is, the next round must come
            self._refuse(group, error)
            return False
        if any(shares):  # there may be more than one round takes
            self.wake()
        left_over: list[str] = []
        for waiter, jobs in zip(group, shares, strict=True):
            waiter.fresh = False
            if waiter.over or waiter.answer.done():  # it left in this moment
                left_over += [job.lease for job in jobs]
            elif jobs or not waiter.patient or waiter.ask.worker in in_vain:
                waiter.answer.set_result(jobs)
                self.waiters.remove(waiter)
        if left_over:
            with suppress(Exception):  # else they expire
                await asyncio.to_thread(release, self.database, left_over)
        return True

    def _refuse(self, group: Sequence[Waiter], error: Exception) -> None:
        """Those who have just come learn of it; those who were here before go on waiting."""
        for waiter in group:
            if waiter.fresh and not waiter.over and not waiter.answer.done():
                waiter.answer.set_exception(error)
        if isinstance(error, CounterpoiseError):
            log.warning("the database does not answer", reason=str(error).splitlines()[0])
        else:
            log.error("asks could not be served", exc_info=error)

    async def _lease(self, asks: Sequence[Ask], fresh: bool) -> tuple[list[list[Job]], set[str]]:
        """A list of jobs for each, and the workers who wait in vain, as they are drained."""
        shares: list[list[Job]] = [[] for _ in asks]
        # A look costs no lock; those who have been here before are only served if there is something.
        if fresh or await asyncio.to_thread(any_jobs_for, self.database, asks):
            # Only this where all writes are: to look may mean to wait for other readers.
            shares = await self.database.in_writer_thread(serve_asks, self.database, asks, self.heartbeat_s)
        empty = [ask for ask, share in zip(asks, shares, strict=True) if not share and ask.wait_s > 0]
        in_vain: set[str] = set()
        if empty:
            with suppress(CounterpoiseError):  # what the others have leased must reach them
                in_vain = await asyncio.to_thread(drained_workers, self.database, empty)
        return shares, in_vain

    async def _beat(self) -> None:
        while not self.closing.is_set():
            try:
                await asyncio.to_thread(self.database.write, record_uptime)
            except Exception as error:  # noqa: BLE001  without a pulse nothing would ever expire
                log.warning("the database does not answer", reason=str(error).splitlines()[0])
            with suppress(TimeoutError):
                await asyncio.wait_for(self.closing.wait(), RECORD_EVERY_S)
