"""The processes that compute for a planner: one for its steps, and below it those that fit models.

All are niced, and gone with the planner. The planner itself only reads and writes: what holds a lock on the database
must neither stand back behind others nor share an interpreter with what computes.
"""

import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.util import Finalize
from typing import Any

from app.domain.steps import Step
from app.service.planning.compute_step import Plan, compute_step
from app.store.database import Database
from counterpoise.child_processes import end_with_parent

MOST_FITTERS = 8


class Pool:
    """Processes that are there before they are needed, and again when one was killed."""

    def __init__(self, size: int, become: Callable[..., None], *given: Any) -> None:
        self._size, self._become, self._given = size, become, given
        self._start()

    def _start(self) -> None:
        self._pool = ProcessPoolExecutor(
            self._size, get_context("spawn"), initializer=self._become, initargs=self._given
        )
        for _ in range(self._size):  # they load their libraries now, not when the first step is due
            self._pool.submit(int)

    def map(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        given = list(tasks)
        for _ in range(2):  # it may have been killed while it had nothing to do
            try:
                return list(self._pool.map(function, given))
            except BrokenProcessPool:
                self._start()
        raise RuntimeError("a process that computes was killed twice; is there enough memory?")

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class Thinker:
    """A process that computes steps, one at a time, as `prepare` does."""

    def __init__(self, database_url: str) -> None:
        self._pool = Pool(1, _become_thinker, database_url)

    def prepare(self, step: Step) -> Plan:
        (plan,) = self._pool.map(_prepare, [step])
        return plan  # type: ignore[no-any-return]

    def close(self) -> None:
        self._pool.close()


_here: dict[str, Any] = {}  # what the thinker's process keeps


def _become_thinker(database_url: str) -> None:
    os.nice(10)
    _follow_parent()
    _here["database"] = Database(database_url, pool_size=1)
    _here["fitters"] = Pool(min(os.cpu_count() or 1, MOST_FITTERS), _follow_parent)
    # Before all else at the end of this process: later it would wait for them, and they for its word.
    Finalize(None, _here["fitters"].close, exitpriority=100)


def _prepare(step: Step) -> Plan:
    return compute_step(_here["database"], step, fit=_here["fitters"].map)


def _follow_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    end_with_parent()
