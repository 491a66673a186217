"""Events as listeners get them: pages after a position, with a `reset` wherever some are no longer kept."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row

from app.domain.timestamps import iso
from app.service.studies.lifecycle import find
from app.store.database import Database
from app.store.events import (
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

DAY_S = 86_400.0
TRIM_AT_ONCE = 1000
TOO_OLD = "events between your id and this one are no longer kept; load anew what you hold"
UNKNOWN = "your id is not of this stream (was the study deleted and created again?); load anew what you hold"


@dataclass(frozen=True, slots=True)
class Event:
    """`position`: the study's sequence, or the number in the feed."""

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
    gone: bool = False  # there is no such study any more

    def add(self, event: Event) -> None:
        if self.events and self.events[-1].kind == "reset" == event.kind:
            self.events.pop()  # one is enough
        self.events.append(event)
        self.position = event.position


@dataclass(frozen=True, slots=True)
class Start:
    """Where a listener begins, and what it is told first if that is not where it wanted to."""

    study: int | None
    name: str
    position: int
    reset: str | None = None


def begin_study(database: Database, name: str, life: int | None, number: int | None) -> Start:
    """After the event `number` of the study (of this life, if said); without one, after all that has happened."""
    with database.read() as connection:
        study = find(connection, name)
    if number is None:
        return Start(study.id, name, study.sequence)
    if life not in (None, study.id) or number > study.sequence:
        return Start(study.id, name, 0, UNKNOWN)
    return Start(study.id, name, number)


def begin_feed(last: int, life: int | None, number: int | None) -> Start:
    if number is None:
        return Start(None, "", last)
    return Start(None, "", 0, UNKNOWN) if life is not None or number > last else Start(None, "", number)


def study_page(database: Database, study: int, after: int, count: int) -> Page:
    with database.read() as connection:
        now = sequence_of(connection, study)  # first: what it says is then there, or no longer
        rows = events_of(connection, study, after, count) if now is not None else []
    if now is None:
        return Page(after, gone=True)
    page = Page(after, more=len(rows) == count)
    for row in rows:
        _mind_the_gap(page, row.seq, study)
        page.add(Event(row.seq, row.kind, study, tell(row, now.name)))
    if not rows and after < now.sequence:
        _mind_the_gap(page, now.sequence + 1, study)
        page.position = now.sequence
    return page


def _mind_the_gap(page: Page, position: int, study: int) -> None:
    """Whoever had read nothing misses nothing."""
    if page.position and position > page.position + 1:
        page.add(reset(position - 1, study, TOO_OLD))


def reset(position: int, study: int, reason: str) -> Event:
    return Event(position, "reset", study, {"reason": reason})


def tell(row: Row[Any], study: str) -> dict[str, Any]:
    """In the user's words: names, not ids."""
    result = {"sample": row.sample, "objective": row.objective, "value": row.value, "failure": row.failure}
    said = {name: value for name, value in result.items() if value is not None} if row.sample else row.body
    return {**said, "study": study, "seq": row.seq, "at": iso(row.at), "kind": row.kind}


def feed_now(database: Database, known: dict[int, int]) -> tuple[dict[int, int], int]:
    """Number what has happened since the studies stood at `known`; answers where they, and the feed, stand now."""
    with database.read() as connection:
        found = study_sequences(connection)
        changed = [study for study, sequence in found.items() if known.get(study) != sequence]
    if changed:
        database.write(lambda connection: append_to_feed(connection, changed))
    with database.read() as connection:
        return found, last_number(connection)


def feed_page(database: Database, after: int, count: int) -> Page:
    with database.read() as connection:
        last = last_number(connection)
        page, end, missing = Page(after), min(after + count, last), False
        for row in read_feed(connection, after, end - after):
            missing = missing or max(row.since, after) > page.position
            if row.seq is None and row.last_seq is not None:  # none is left of this stretch; a deletion will follow
                missing = missing or row.alive
                page.position = min(row.until, end)
                continue
            event = _fed(row)
            missing = missing or event.position > page.position + 1
            if missing and after:
                page.add(reset(event.position - 1, row.study_id, TOO_OLD))
            page.add(event)
            missing = False
        if not page.events and page.position < last:
            page.position, skipped = _skip(connection, page.position)
            missing = missing or skipped
    if missing and after:
        page.add(reset(page.position, 0, TOO_OLD))
    page.more = page.position < last
    return page


def _fed(row: Row[Any]) -> Event:
    if row.last_seq is None:
        data = {"study": row.study, "at": iso(row.fed_at), "kind": "deleted"}
        return Event(row.until, "deleted", row.study_id, data)
    return Event(row.number, row.kind, row.study_id, tell(row, row.study))


def _skip(connection: Connection, after: int) -> tuple[int, bool]:
    """How far there is nothing to tell, and whether there should be."""
    row = next_stretch(connection, after)
    if row is None or row.seq is None or row.since > after:
        return (row.since, row.since > after) if row is not None else (after, False)
    seen = row.seq - (row.until - after)
    kept = first_kept(connection, row.study_id, seen)
    if kept is None or kept > row.seq:
        return row.until, sequence_of(connection, row.study_id) is not None
    return after + kept - seen - 1, kept > seen + 1


def trim(database: Database, kept_days: float) -> int:
    """Forget events that are older than that, in small transactions; answers how many."""
    age_s = kept_days * DAY_S
    with database.read() as connection:
        old = studies_with_older(connection, age_s)
    trimmed = 0
    for row in old:
        trimmed += database.write(
            lambda connection, row=row: trim_events(connection, row.study_id, row.seq, TRIM_AT_ONCE, age_s)  # type: ignore[misc]
        )
    database.write(lambda connection: trim_feed(connection, TRIM_AT_ONCE, age_s))
    return trimmed
