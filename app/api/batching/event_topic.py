"""What the listeners to one stream of events share."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from app.api.server_sent_events import encode_event, event_id
from app.service.monitoring.events import Page

MOST_RECENT = 1000
MOST_AT_ONCE = 100


@dataclass(slots=True, eq=False)
class EventTopic:
    """The latest events of one study (None: of all studies), encoded once for all
    listeners.
    """

    study: int | None
    listeners: int = 0
    is_deleted: bool = False
    # `_recent` holds every event after this position; None: none is known yet
    complete_after: int | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    # By position
    page_reads: dict[int, "asyncio.Task[tuple[Page, bytes]]"] = field(
        default_factory=dict
    )
    _recent: deque[tuple[int, bytes]] = field(default_factory=deque)

    def encode(self, position: int, kind: str, data: dict[str, Any]) -> bytes:
        return encode_event(event_id(self.study, position), kind, data)

    def append(self, position: int, kind: str, data: dict[str, Any]) -> None:
        if self.complete_after is None:
            self.complete_after = position - 1
        self._recent.append((position, self.encode(position, kind, data)))
        if len(self._recent) > MOST_RECENT:
            self.complete_after, _ = self._recent.popleft()

    def events_after(self, position: int) -> tuple[int, bytes] | None:
        """The next events and the position behind them; None if they must be read from
        the database.
        """
        if self.complete_after is None or position < self.complete_after:
            return None
        later = []
        for event in reversed(self._recent):
            if event[0] <= position:
                break
            later.append(event)
        later.reverse()
        events = later[:MOST_AT_ONCE]
        end = events[-1][0] if events else position
        return end, b"".join(encoded for _, encoded in events)

    def clear(self) -> None:
        self.complete_after = None
        self._recent.clear()

    def notify(self) -> None:
        """Wake all listeners."""
        self.changed.set()
        self.changed = asyncio.Event()
