"""Limits how many tokens an address can try."""

import time
from dataclasses import dataclass, field

WINDOW_S = 60.0
MOST_WRONG = 600  # of an address within the window
MOST_ADDRESSES = 10_000


@dataclass(slots=True)
class WrongTokens:
    """Counts wrong tokens by address.

    A token that was right before is never refused: one worker with a wrong token behind
    the same proxy must not stop the others.
    """

    _counts: dict[str, int] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)
    # At most as many as there are tokens
    _proven: set[str] = field(default_factory=set)

    def is_blocked(self, address: str, token: str) -> bool:
        if token in self._proven:
            return False
        if time.monotonic() - self._since > WINDOW_S:
            self._counts.clear()
            self._since = time.monotonic()
        return self._counts.get(address, 0) >= MOST_WRONG

    def add_right(self, token: str) -> None:
        self._proven.add(token)

    def add_wrong(self, address: str) -> None:
        if address in self._counts or len(self._counts) < MOST_ADDRESSES:
            self._counts[address] = self._counts.get(address, 0) + 1
