"""Processes that all begin at the same moment, for loads that many clients make
together.
"""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from typing import Any, TypeVar

from counterpoise.child_processes import end_with_parent

Task = TypeVar("Task")
PATIENCE_S = 120.0
_barriers: list[Barrier] = []  # of this process, if it is one of a crew


@dataclass(slots=True)
class Share:
    """What one process did: when (by a clock that all processes share), how much, and
    how long each request took.
    """

    began: float = 0.0
    ended: float = 0.0
    done: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def timed(self, what: str, began: float) -> None:
        self.seconds.setdefault(what, []).append(time.monotonic() - began)


class Crew:
    """`size` processes, started once; `run` lets each of them do the same work,
    beginning together.
    """

    def __init__(self, size: int) -> None:
        context = get_context("spawn")
        self.size = size
        self._pool = ProcessPoolExecutor(
            size, context, initializer=_enter, initargs=(context.Barrier(size),)
        )

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def run(
        self, work: Callable[[Task, int, Callable[[], object]], Share], task: Task
    ) -> list[Share]:
        """`work(task, number, start)` prepares itself, calls `start`, and measures from
        there.
        """
        shares = [
            self._pool.submit(_work, work, task, number) for number in range(self.size)
        ]
        return [share.result() for share in shares]


def _enter(barrier: Barrier) -> None:
    end_with_parent()
    _barriers.append(barrier)


def _work(work: Callable[..., Share], task: Any, number: int) -> Share:
    # Each task waits here for all the others, so no process can take two of them.
    return work(task, number, lambda: _barriers[0].wait(PATIENCE_S))


def duration(shares: list[Share]) -> float:
    """Seconds from the first one's beginning to the last one's end."""
    return max(share.ended for share in shares) - min(share.began for share in shares)
