"""Pages of events after a position, with a `reset` wherever some are no longer stored."""

from dataclasses import dataclass, field
from typing import Any

from app.domain.times import iso
from app.service.require_study import require_study
from app.store.database import Connection, Database
from app.store.events import (
    FeedEntry,
    StoredEvent,
    append_to_feed,
    events_of,
    first_kept,
    last_number,
    next_stretch,
    read_feed,
    sequence_of,
    studies_with_older,
    study_sequences,
    trim_events,
    trim_feed,
)
from counterpoise.wire.codes import EventKind

DAY_S = 86_400.0
TRIM_AT_ONCE = 1000
NO_STUDY = 0
TOO_OLD = (
    "events between your id and this one are no longer stored; reload what you show"
)
UNKNOWN = "your id is not of this stream (was the study deleted and created again?); reload what you show"


@dataclass(frozen=True, slots=True)
class Event:
    """`position`: in the study's sequence, or in the feed."""

    position: int
    kind: str
    study_id: int
    data: dict[str, Any]


@dataclass(slots=True)
class Page:
    """Events after a position, and the position after which the next page begins."""

    position: int
    events: list[Event] = field(default_factory=list)
    more: bool = False
    study_deleted: bool = False

    def add(self, event: Event) -> None:
        if self.events and self.events[-1].kind == EventKind.RESET == event.kind:
            self.events.pop()  # one is enough
        self.events.append(event)
        self.position = event.position


@dataclass(frozen=True, slots=True)
class Start:
    """Where a stream begins, and the reason for a reset if that is not where the
    listener wanted to begin.
    """

    study: int | None
    name: str
    position: int
    reset: str | None = None


def begin_study(
    database: Database, name: str, study_id: int | None, number: int | None
) -> Start:
    """After the event `number`; without one, after all that has happened.

    `study_id` comes with the event id: another study may have had the name.
    """
    with database.read() as connection:
        study = require_study(connection, name)
    if number is None:
        return Start(study.id, name, study.sequence)
    if study_id not in (None, study.id) or number > study.sequence:
        return Start(study.id, name, 0, UNKNOWN)
    return Start(study.id, name, number)


def begin_feed(last: int, study_id: int | None, number: int | None) -> Start:
    if number is None:
        return Start(None, "", last)
    if study_id is not None or number > last:
        return Start(None, "", 0, UNKNOWN)
    return Start(None, "", number)


def study_page(database: Database, study: int, after: int, count: int) -> Page:
    with database.read() as connection:
        # First: events up to this sequence are then there, or trimmed
        known = sequence_of(connection, study)
        events = events_of(connection, study, after, count) if known is not None else []
    if known is None:
        return Page(after, study_deleted=True)
    name, sequence = known
    page = Page(after, more=len(events) == count)
    for event in events:
        _report_gap(page, event.seq, study)
        page.add(Event(event.seq, event.kind, study, event_data(event, name)))
    if not events and after < sequence:
        _report_gap(page, sequence + 1, study)
        page.position = sequence
    return page


def _report_gap(page: Page, position: int, study: int) -> None:
    """Add a reset if events before this position are missing.

    A listener that begins at 0 misses nothing.
    """
    if page.position and position > page.position + 1:
        page.add(reset(position - 1, study, TOO_OLD))


def reset(position: int, study: int, reason: str) -> Event:
    return Event(position, EventKind.RESET, study, {"reason": reason})


def event_data(event: StoredEvent, study: str) -> dict[str, Any]:
    """With names instead of ids."""
    data = dict(event.body)
    if event.sample is not None:
        result = {
            "sample": event.sample,
            "objective": event.objective,
            "value": event.value,
            "failure": event.failure,
        }
        data = {name: value for name, value in result.items() if value is not None}
    return {
        **data,
        "study": study,
        "seq": event.seq,
        "at": iso(event.at),
        "kind": event.kind,
    }


def number_new_events(
    database: Database, known: dict[int, int]
) -> tuple[dict[int, int], int]:
    """Number the events since the studies' sequences were `known`; returns the
    sequences and the feed's last number.
    """
    with database.read() as connection:
        sequences = study_sequences(connection)
    changed = [
        study for study, sequence in sequences.items() if known.get(study) != sequence
    ]
    if changed:
        database.write(append_to_feed, changed)
    with database.read() as connection:
        return sequences, last_number(connection)


def feed_page(database: Database, after: int, count: int) -> Page:
    with database.read() as connection:
        last = last_number(connection)
        end = min(after + count, last)
        page = Page(after)
        is_missing = False  # events before the next one
        for entry in read_feed(connection, after, end - after):
            is_missing = is_missing or max(entry.since, after) > page.position
            if entry.event is None and entry.last_seq is not None:
                # Nothing is left of this stretch; if its study is gone, its deletion
                # follows.
                is_missing = is_missing or entry.study_exists
                page.position = min(entry.until, end)
                continue
            event = _feed_event(entry)
            is_missing = is_missing or event.position > page.position + 1
            if is_missing and after:
                page.add(reset(event.position - 1, entry.study_id, TOO_OLD))
            page.add(event)
            is_missing = False
        if not page.events and page.position < last:
            page.position, has_skipped = _skip(connection, page.position)
            is_missing = is_missing or has_skipped
    if is_missing and after:
        page.add(reset(page.position, NO_STUDY, TOO_OLD))
    page.more = page.position < last
    return page


def _feed_event(entry: FeedEntry) -> Event:
    if entry.event is None or entry.number is None:
        data = {
            "study": entry.study,
            "at": iso(entry.fed_at),
            "kind": EventKind.DELETED,
        }
        return Event(entry.until, EventKind.DELETED, entry.study_id, data)
    return Event(
        entry.number,
        entry.event.kind,
        entry.study_id,
        event_data(entry.event, entry.study),
    )


def _skip(connection: Connection, after: int) -> tuple[int, bool]:
    """The position up to which no event is stored, and whether some were."""
    stretch = next_stretch(connection, after)
    if stretch is None:
        return after, False
    if stretch.last_seq is None or stretch.since > after:
        return stretch.since, stretch.since > after
    seq = stretch.last_seq - (stretch.until - after)
    kept = first_kept(connection, stretch.study_id, seq)
    if kept is None or kept > stretch.last_seq:
        return stretch.until, sequence_of(connection, stretch.study_id) is not None
    return after + kept - seq - 1, kept > seq + 1


def trim(database: Database, kept_days: float) -> int:
    """Delete events that are older than that, in small transactions; returns how many."""
    age_s = kept_days * DAY_S
    with database.read() as connection:
        old = studies_with_older(connection, age_s)
    trimmed = 0
    for study, oldest in old:
        trimmed += database.write(trim_events, study, oldest, TRIM_AT_ONCE, age_s)
    database.write(trim_feed, TRIM_AT_ONCE, age_s)
    return trimmed
