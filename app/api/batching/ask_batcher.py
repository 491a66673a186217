"""Long polling: all asks of this process are served together, and wait without a
thread, connection or query each.
"""

import asyncio
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from app.errors import CounterpoiseError
from app.logs import first_line
from app.service.work.ask import any_jobs_for, drained_workers, serve_asks
from app.service.work.empty_ask import explain_empty_ask
from app.service.work.release import release
from app.store.database import Database
from app.store.wakeups import watch
from counterpoise.wire.work import Ask, Asked, Job

log = structlog.stdlib.get_logger("counterpoise.ask")
POLL_S = 1.0


@dataclass(slots=True, eq=False)
class PendingAsk:
    ask: Ask
    jobs: "asyncio.Future[list[Job]]"
    is_new: bool = True  # not looked at yet
    accepts_empty: bool = False  # its wait is over: no jobs is a result, too
    is_abandoned: bool = False  # its request has ended


@dataclass(slots=True)
class AskBatcher:
    """One task leases jobs for all pending asks; one thread watches for changes made by
    other processes.
    """

    database: Database
    heartbeat_s: float
    pending: list[PendingAsk] = field(default_factory=list)
    _jobs_may_be_ready: bool = True
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _task: "asyncio.Task[None] | None" = None
    _watcher: threading.Thread | None = None
    _watcher_stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self.wake)

        self._watcher = threading.Thread(
            target=watch, args=(self.database, wake, self._watcher_stop), daemon=True
        )
        self._watcher.start()
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """End all waits: the server is about to stop."""
        self._closing.set()
        self._wake.set()
        for pending in self.pending:
            if not pending.jobs.done():
                pending.jobs.set_result([])

    async def stop(self) -> None:
        self.close()
        self._watcher_stop.set()
        if self._task is not None:
            await self._task  # not cancelled: its threads still use the database
        if self._watcher is not None:
            await asyncio.to_thread(self._watcher.join)

    def wake(self) -> None:
        """Jobs may have become ready."""
        self._jobs_may_be_ready = True
        self._wake.set()

    async def ask(self, ask: Ask, disconnected: "asyncio.Future[None]") -> Asked:
        """Return jobs as soon as there are any; after `wait_s`, the reason why there
        are none.
        """
        jobs = (
            []
            if self._closing.is_set()
            else await self._wait_for_jobs(ask, disconnected)
        )
        if jobs:
            return Asked(jobs=jobs)
        return await asyncio.to_thread(explain_empty_ask, self.database, ask)

    async def _wait_for_jobs(
        self, ask: Ask, disconnected: "asyncio.Future[None]"
    ) -> list[Job]:
        pending = PendingAsk(
            ask,
            asyncio.get_running_loop().create_future(),
            accepts_empty=ask.wait_s == 0,
        )
        self.pending.append(pending)
        self._wake.set()
        events: list[asyncio.Future[list[Job]] | asyncio.Future[None]] = [
            pending.jobs,
            disconnected,
        ]
        try:
            await asyncio.wait(
                events, timeout=ask.wait_s, return_when=asyncio.FIRST_COMPLETED
            )
            pending.accepts_empty = True
            if (
                pending.is_new
            ):  # however short the wait, the first attempt to serve it is awaited
                await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if pending in self.pending:
                self.pending.remove(pending)
            pending.is_abandoned = True
        return pending.jobs.result() if pending.jobs.done() else []

    async def _run(self) -> None:
        """Serve new asks at once, and those that wait in a second task, so that neither
        delays the other.
        """
        polled_at = time.monotonic()
        serving_waiting: asyncio.Task[None] | None = None
        while not self._closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), POLL_S)
            if (
                time.monotonic() - polled_at > POLL_S
            ):  # nothing announces the end of a job's back-off
                self._jobs_may_be_ready = True
                polled_at = time.monotonic()
            self._wake.clear()
            if self._jobs_may_be_ready and (
                serving_waiting is None or serving_waiting.done()
            ):
                self._jobs_may_be_ready = False
                waiting = [pending for pending in self.pending if not pending.is_new]
                serving_waiting = (
                    asyncio.create_task(self._serve_waiting(waiting))
                    if waiting
                    else None
                )
            await self._serve([pending for pending in self.pending if pending.is_new])
        if serving_waiting is not None:
            await serving_waiting

    async def _serve_waiting(self, waiting: Sequence[PendingAsk]) -> None:
        if not await self._serve(waiting):
            self._jobs_may_be_ready = True
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), POLL_S)
        if self._jobs_may_be_ready:  # woken meanwhile
            self._wake.set()

    async def _serve(self, group: Sequence[PendingAsk]) -> bool:
        """Lease jobs for these asks and hand them over; False after an error."""
        if not group:
            return True
        try:
            shares = await self._lease(group)
        except Exception as error:  # noqa: BLE001  no error may end the task
            self._fail(group, error)
            return False
        if any(shares):  # there may be more jobs than one transaction leases
            self.wake()
        unserved = [
            pending.ask for pending, jobs in zip(group, shares, strict=True) if not jobs
        ]
        drained = await self._drained_among(unserved)
        undelivered: list[Job] = []
        for pending, jobs in zip(group, shares, strict=True):
            pending.is_new = False
            if pending.is_abandoned or pending.jobs.done():
                undelivered.extend(jobs)
            elif jobs or pending.accepts_empty or pending.ask.worker in drained:
                pending.jobs.set_result(jobs)
                self.pending.remove(pending)
        await self._release(undelivered)
        return True

    async def _lease(self, group: Sequence[PendingAsk]) -> list[list[Job]]:
        """Lease jobs; returns a list for each ask."""
        asks = [pending.ask for pending in group]
        has_new = any(pending.is_new for pending in group)
        # Asks that wait are served only if a read, which locks nothing, finds ready
        # jobs. It does not run in the writer thread: it may have to wait for a
        # connection while others read.
        if has_new or await asyncio.to_thread(any_jobs_for, self.database, asks):
            return await self.database.in_writer_thread(
                serve_asks, self.database, asks, self.heartbeat_s
            )
        return [[] for _ in asks]

    async def _drained_among(self, unserved: Iterable[Ask]) -> set[str]:
        """The drained workers among these: they get no jobs, however long they wait."""
        waiting = [ask for ask in unserved if ask.wait_s > 0]
        if not waiting:
            return set()
        try:
            return await asyncio.to_thread(drained_workers, self.database, waiting)
        except Exception as error:  # noqa: BLE001  leased jobs must still reach their workers
            log.warning(
                "drained workers are not known; they wait on", reason=first_line(error)
            )
            return set()

    async def _release(self, undelivered: Sequence[Job]) -> None:
        """Return jobs whose request ended while they were leased."""
        leases = [job.lease for job in undelivered]
        if leases:
            with suppress(Exception):  # these leases expire
                await asyncio.to_thread(release, self.database, leases)

    def _fail(self, group: Sequence[PendingAsk], error: Exception) -> None:
        """Raise the error for new asks; those that wait go on waiting."""
        for pending in group:
            if pending.is_new and not pending.is_abandoned and not pending.jobs.done():
                pending.jobs.set_exception(error)
        if isinstance(error, CounterpoiseError):
            log.warning(
                "asks were not served; waiting ones are tried again",
                reason=first_line(error),
            )
        else:
            log.error(
                "asks were not served; waiting ones are tried again", exc_info=error
            )
