"""How often a client may fail to log in.

Kept in memory, by each server for itself.
"""

import math
from collections import deque
from collections.abc import Callable

from app.errors import TooManyLogins

WINDOW_S = 60.0
MOST_FAILURES = 10  # of one address in the window
MOST_ALL = 200  # of all addresses together
ALL = ""  # no address


class LoginLimit:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: dict[str, deque[float]] = {}

    def check(self, address: str) -> None:
        """Raises TooManyLogins."""
        for key, most in ((address, MOST_FAILURES), (ALL, MOST_ALL)):
            failures = self._recent(key)
            if len(failures) >= most:
                wait_s = math.ceil(failures[0] + WINDOW_S - self._clock())
                raise TooManyLogins(
                    f"too many failed logins; try again in {max(wait_s, 1)} s",
                    retry_after_s=max(wait_s, 1),
                )

    def count_failure(self, address: str) -> None:
        now = self._clock()
        for key in (address, ALL):
            self._failures.setdefault(key, deque()).append(now)
        for key in list(self._failures):  # at most MOST_ALL, by `check`
            self._recent(key)

    @property
    def remembered(self) -> int:
        """Addresses with failures that count, all together being one of them."""
        return len(self._failures)

    def _recent(self, key: str) -> deque[float]:
        failures = self._failures.get(key, deque())
        while failures and failures[0] <= self._clock() - WINDOW_S:
            failures.popleft()
        if not failures:
            self._failures.pop(key, None)
        return failures
