"""Processes that compute for another process, and exit with it."""

import signal
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from typing import Any

from counterpoise.child_processes import end_with_parent

# multiprocessing's resource tracker warns when it removes the semaphores of killed
# processes. It inherits the options of the process that starts it.
QUIET_TRACKER = "ignore:resource_tracker:UserWarning"


class RestartingPool:
    """A process pool that is started before it is needed, and again after one of its
    processes was killed.

    Its processes are copies of a server process that has imported `module`: slow
    imports are made once, and their memory is shared. Without a module they are copies
    of this process, which must itself be such a copy and have no threads that hold locks.
    """

    def __init__(
        self,
        size: int,
        module: str | None,
        initializer: Callable[..., None],
        *arguments: Any,
    ) -> None:
        self._size = size
        self._module = module
        self._initializer = initializer
        self._arguments = arguments
        self._start()

    def _start(self) -> None:
        if QUIET_TRACKER not in sys.warnoptions:
            sys.warnoptions.append(QUIET_TRACKER)
        self._pool = ProcessPoolExecutor(
            self._size,
            self._context(),
            initializer=self._initializer,
            initargs=self._arguments,
        )
        # Now, not when the first step is due
        for _ in range(self._size):
            self._pool.submit(int)

    def _context(self) -> BaseContext:
        if self._module is None:
            return get_context("fork")
        context = get_context("forkserver")
        context.set_forkserver_preload([self._module])
        return context

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        given = list(tasks)
        for _ in range(2):  # a process may have been killed while it was idle
            try:
                return list(self._pool.map(function, given))
            except BrokenProcessPool:
                self._start()
        raise RuntimeError(
            "a computing process was killed twice; is there enough memory?"
        )

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def follow_parent() -> None:
    # Ctrl-C reaches the whole process group; the parent decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
