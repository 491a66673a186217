"""Requests to stop a worker: the first to finish what runs, the second to end at once."""

import time
from dataclasses import dataclass

POLL_S = 0.2


@dataclass(slots=True)
class Shutdown:
    """Without a lock, so that a signal handler may call `request`; other threads poll."""

    requests: int = 0
    asks_are_over: bool = False

    def request(self) -> None:
        self.requests += 1

    def sleep(self, seconds: float) -> None:
        """Sleep, but not longer than the worker asks for jobs."""
        deadline = time.monotonic() + seconds
        while not (self.requests or self.asks_are_over):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, POLL_S))
