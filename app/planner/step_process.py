"""The processes that compute for a planner: one for its steps and, below it, those that
fit models.

All of them run at a lower priority and exit with the planner. The planner itself only
reads and writes the database: a process that holds a lock must not be slowed by a low
priority or by computations in the same interpreter.
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

NICENESS = 10
MOST_FITTERS = 8


class RestartingPool:
    """A process pool that is started before it is needed, and again after one of its
    processes was killed.
    """

    def __init__(
        self, size: int, initializer: Callable[..., None], *arguments: Any
    ) -> None:
        self._size = size
        self._initializer = initializer
        self._arguments = arguments
        self._start()

    def _start(self) -> None:
        self._pool = ProcessPoolExecutor(
            self._size,
            get_context("spawn"),
            initializer=self._initializer,
            initargs=self._arguments,
        )
        for _ in range(
            self._size
        ):  # load the libraries now, not when the first step is due
            self._pool.submit(int)

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


class StepProcess:
    """A process that computes steps, one at a time."""

    def __init__(self, database_url: str) -> None:
        self._pool = RestartingPool(1, _initialize, database_url)

    def compute(self, step: Step) -> Plan:
        (plan,) = self._pool.map(_compute, [step])
        return plan  # type: ignore[no-any-return]

    def close(self) -> None:
        self._pool.close()


_resources: dict[str, Any] = {}  # of the step process


def _initialize(database_url: str) -> None:
    os.nice(NICENESS)
    _follow_parent()
    fitters = RestartingPool(min(os.cpu_count() or 1, MOST_FITTERS), _follow_parent)
    _resources["database"] = Database(database_url, pool_size=1)
    _resources["fitters"] = fitters
    # At exit, close the pool first: otherwise this process and the fitters would wait
    # for each other.
    Finalize(None, fitters.close, exitpriority=100)


def _compute(step: Step) -> Plan:
    return compute_step(_resources["database"], step, fit=_resources["fitters"].map)


def _follow_parent() -> None:
    # Ctrl-C reaches the whole process group; the parent decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
