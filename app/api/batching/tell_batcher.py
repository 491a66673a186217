"""Tells that arrive together are recorded together: one transaction, one durable commit
for all of them.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.errors import DatabaseUnusable
from app.service.work.tell import tell
from app.store.database import Database
from counterpoise.wire.work import Tell, Told

MOST_AT_ONCE = 1000


@dataclass(slots=True, eq=False)
class PendingTells:
    """The tells of one request."""

    items: Sequence[Tell]
    results: "asyncio.Future[list[Told]]"

    def resolve(self, results: list[Told]) -> None:
        if not self.results.done():
            self.results.set_result(results)

    def fail(self, error: Exception) -> None:
        if not self.results.done():
            self.results.set_exception(error)


@dataclass(slots=True)
class TellBatcher:
    """Collects tells while a transaction is running and records them in the next one;
    there is no timer.
    """

    database: Database
    _pending: list[PendingTells] = field(default_factory=list)
    _task: "asyncio.Task[None] | None" = None

    async def tell(self, items: Sequence[Tell]) -> list[Told]:
        request = PendingTells(items, asyncio.get_running_loop().create_future())
        self._pending.append(request)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return await asyncio.shield(request.results)

    async def stop(self) -> None:
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while self._pending:
            batch = self._next_batch()
            try:
                await self._record_together(batch)
            except DatabaseUnusable as error:
                # It would fail for each of them again, perhaps after a long wait
                for request in batch:
                    request.fail(error)
            except Exception:  # noqa: BLE001  an error of one request must not fail the others
                await self._record_one_by_one(batch)

    def _next_batch(self) -> list[PendingTells]:
        batch: list[PendingTells] = []
        size = 0
        while self._pending and size < MOST_AT_ONCE:
            request = self._pending.pop(0)
            batch.append(request)
            size += len(request.items)
        return batch

    async def _record_together(self, batch: Sequence[PendingTells]) -> None:
        items: list[Tell] = []
        for request in batch:
            items.extend(request.items)
        results = await self._record(items)
        start = 0
        for request in batch:
            end = start + len(request.items)
            request.resolve(results[start:end])
            start = end

    async def _record_one_by_one(self, batch: Sequence[PendingTells]) -> None:
        for request in batch:
            try:
                request.resolve(await self._record(request.items))
            except Exception as error:  # noqa: BLE001  raised where the result is awaited
                request.fail(error)

    async def _record(self, items: Sequence[Tell]) -> list[Told]:
        return await self.database.in_writer_thread(tell, self.database, items)
