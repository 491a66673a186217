"""Records that a server is up: leases expire only while a server is up to receive
heartbeats.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from app.store.database import Database
from app.store.work.server_uptime import RECORD_EVERY_S, record_uptime

log = structlog.stdlib.get_logger("counterpoise")


@dataclass(slots=True)
class UptimeRecorder:
    database: Database
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _task: "asyncio.Task[None] | None" = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self._stopping.set()
        if self._task is not None:
            await self._task  # not cancelled: its thread still uses the database

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                await asyncio.to_thread(self.database.write, record_uptime)
            except Exception as error:  # noqa: BLE001  without this record no lease ever expires
                reason = str(error).splitlines()[0]
                log.warning(
                    "the server's uptime was not recorded; trying again",
                    reason=reason,
                    retry_s=RECORD_EVERY_S,
                )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), RECORD_EVERY_S)
