"""Queries for health checks, which respond in time even if the database does not."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from app.errors import DatabaseUnusable

T = TypeVar("T")
WAIT_S = 2.0


class BoundedPoll(Generic[T]):
    """Runs a function in a thread of its own, one call at a time: requests that wait
    for the database may occupy all threads of the server.
    """

    def __init__(self) -> None:
        self._running: Future[T] | None = None

    async def result_of(self, function: Callable[[], T]) -> T:
        """The result of the running call, or of a new one. Raises DatabaseUnusable if
        it takes too long; the call goes on.
        """
        if self._running is None or self._running.done():
            self._running = _start(function)
        result = asyncio.wrap_future(self._running)
        try:
            return await asyncio.wait_for(asyncio.shield(result), WAIT_S)
        except TimeoutError:
            raise DatabaseUnusable(
                f"the database has not responded for {WAIT_S:g} s"
            ) from None


def _start(function: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except Exception as error:  # noqa: BLE001  raised where the result is awaited
            future.set_exception(error)

    # A daemon: a database that never responds must not delay the end of the server
    threading.Thread(target=run, name="poll", daemon=True).start()
    return future
