"""Tells that arrive together are settled together: one transaction, one durable commit for all of them."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from app.service.work.tell import tell
from app.store.database import Database
from counterpoise.wire.work import Tell, Told

MOST_AT_ONCE = 1000


@dataclass(slots=True)
class TellDesk:
    """While one transaction is under way the next tells gather; nobody waits for a timer."""

    database: Database
    _gathered: list[tuple[Sequence[Tell], "asyncio.Future[list[Told]]"]] = field(default_factory=list)
    _worker: "asyncio.Task[None] | None" = None

    async def tell(self, items: Sequence[Tell]) -> list[Told]:
        answer: asyncio.Future[list[Told]] = asyncio.get_running_loop().create_future()
        self._gathered.append((items, answer))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._settle_all())
        return await asyncio.shield(answer)

    async def stop(self) -> None:
        if self._worker is not None:
            await self._worker

    async def _settle_all(self) -> None:
        while self._gathered:
            batch = [self._gathered.pop(0)]
            while self._gathered and sum(len(items) for items, _ in batch) < MOST_AT_ONCE:
                batch.append(self._gathered.pop(0))
            try:
                answers = await self._settle([item for items, _ in batch for item in items])
            except Exception:  # noqa: BLE001  one caller's trouble must not become another's: each on its own
                await self._settle_singly(batch)
                continue
            for items, answer in batch:
                _set(answer, answers[: len(items)])
                del answers[: len(items)]

    def _settle(self, items: Sequence[Tell]) -> Awaitable[list[Told]]:
        return self.database.in_writer_thread(tell, self.database, items)

    async def _settle_singly(self, batch: Sequence[tuple[Sequence[Tell], "asyncio.Future[list[Told]]"]]) -> None:
        for items, answer in batch:
            try:
                _set(answer, await self._settle(items))
            except Exception as error:  # noqa: BLE001  it is raised where the answer is awaited
                if not answer.done():
                    answer.set_exception(error)


def _set(answer: "asyncio.Future[list[Told]]", told: list[Told]) -> None:
    if not answer.done():
        answer.set_result(told)
