"""Events: what happened in a study, by its sequence; and the feed, one order for the
events of all studies.

An event has a number in the feed, without gaps. Numbers are assigned afterwards, by the
first reader: settling takes only its own study's lock.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    and_,
    case,
    delete,
    func,
    insert,
    select,
    text,
    update,
)

from app.store.sql.bulk import bulk_insert
from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.tables import events, feed, objectives, sample_values, studies


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event and, if a value or failure caused it, that."""

    seq: int
    at: float
    kind: str
    body: dict[str, Any]
    sample: int | None
    objective: str | None
    value: float | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A stretch of the feed: numbers above `since` up to `until` are one study's
    events, up to `last_seq`.

    With one of its events, or None if none of those asked for is left.
    """

    since: int
    until: int
    study_id: int
    study: str
    last_seq: int | None  # None: the study was deleted
    fed_at: float
    study_exists: bool
    number: int | None  # of the event
    event: StoredEvent | None


@dataclass(frozen=True, slots=True)
class Stretch:
    since: int
    until: int
    study_id: int
    last_seq: int | None


_EVENT_COLUMNS = (
    events.c.seq,
    events.c.at,
    events.c.kind,
    events.c.body,
    sample_values.c.sample_id.label("sample"),
    objectives.c.name.label("objective"),
    sample_values.c.value,
    sample_values.c.failure,
)
_ITS_VALUE = and_(
    sample_values.c.study_id == events.c.study_id, sample_values.c.seq == events.c.seq
)


def _event(row: Row[Any]) -> StoredEvent:
    return StoredEvent(
        row.seq,
        row.at,
        row.kind,
        row.body,
        row.sample,
        row.objective,
        row.value,
        row.failure,
    )


def study_sequences(connection: Connection) -> dict[int, int]:
    """Every study's sequence: the one query that a server repeats while it has
    listeners.
    """
    return {
        row.id: row.sequence
        for row in connection.execute(select(studies.c.id, studies.c.sequence))
    }


def sequence_of(connection: Connection, study: int) -> tuple[str, int] | None:
    """A study's name and sequence; None if it was deleted."""
    row = connection.execute(
        select(studies.c.name, studies.c.sequence).where(studies.c.id == study)
    ).one_or_none()
    return (row.name, row.sequence) if row is not None else None


def events_of(
    connection: Connection, study: int, after: int, limit: int
) -> list[StoredEvent]:
    query: Select[Any] = (
        select(*_EVENT_COLUMNS)
        .outerjoin(sample_values, _ITS_VALUE)
        .outerjoin(objectives, objectives.c.id == sample_values.c.objective_id)
        .where(events.c.study_id == study, events.c.seq > after)
        .order_by(events.c.seq)
        .limit(limit)
    )
    return [_event(row) for row in connection.execute(query)]


def _lock_feed(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":  # SQLite has one writer
        connection.execute(text("LOCK TABLE feed IN EXCLUSIVE MODE"))


def last_number(connection: Connection) -> int:
    return int(
        connection.execute(
            select(func.coalesce(func.max(feed.c.until), 0))
        ).scalar_one()
    )


def append_to_feed(connection: Connection, changed: Collection[int]) -> None:
    """Assign numbers to the events of these studies that have none."""
    _lock_feed(connection)
    newest = connection.execute(
        select(feed).order_by(feed.c.until.desc()).limit(1)
    ).one_or_none()
    number = newest.until if newest else 0
    rows = []
    for study in connection.execute(_FED, {"ids": changed}):
        if study.sequence > study.fed:
            since, number = number, number + study.sequence - study.fed
            rows.append(
                {
                    "since": since,
                    "until": number,
                    "study_id": study.id,
                    "study": study.name,
                    "seq": study.sequence,
                }
            )
    if (
        rows
        and newest is not None
        and newest.study_id == rows[0]["study_id"]
        and newest.seq is not None
    ):
        # The same study again: its stretch grows.
        grown = {"until": rows[0]["until"], "seq": rows[0]["seq"], "at": database_now()}
        connection.execute(
            update(feed).where(feed.c.until == newest.until).values(grown)
        )
        rows = rows[1:]
    _APPEND.execute(connection, rows)


_fed = (
    select(func.max(feed.c.seq))
    .where(feed.c.study_id == studies.c.id)
    .scalar_subquery()
)
_FED = (
    select(
        studies.c.id,
        studies.c.name,
        studies.c.sequence,
        func.coalesce(_fed, 0).label("fed"),
    )
    .where(in_array(studies.c.id, "ids"))
    .order_by(studies.c.id)
)
_APPEND = bulk_insert(
    feed, ("since", "until", "study_id", "study", "seq"), {"at": database_now()}
)


def feed_deletion(connection: Connection, study: int, name: str) -> None:
    """Append that a study was deleted; its own events are deleted with it."""
    _lock_feed(connection)
    number = last_number(connection)
    row = {
        "since": number,
        "until": number + 1,
        "study_id": study,
        "study": name,
        "seq": None,
    }
    connection.execute(insert(feed).values(at=database_now(), **row))


def read_feed(connection: Connection, after: int, count: int) -> list[FeedEntry]:
    """The stretches of the feed that overlap the next `count` numbers, once for each
    event among these numbers.

    A stretch whose events are gone has one entry without an event. A window of numbers,
    not a limit of rows: a stretch may be a million events long, and sorting it for
    every page would cost as much.
    """
    number = feed.c.until - (feed.c.seq - events.c.seq)
    # One bound on each side: an index can use no more.
    first = case((feed.c.since > after, feed.c.since), else_=after)
    last = case((feed.c.until < after + count, feed.c.until), else_=after + count)
    within = and_(
        events.c.study_id == feed.c.study_id,
        events.c.seq > feed.c.seq - (feed.c.until - first),
        events.c.seq <= feed.c.seq - (feed.c.until - last),
    )
    query: Select[Any] = (
        select(
            *_EVENT_COLUMNS,
            number.label("number"),
            feed.c.since,
            feed.c.until,
            feed.c.study,
            feed.c.study_id,
            feed.c.seq.label("last_seq"),
            feed.c.at.label("fed_at"),
            studies.c.id.is_not(None).label("study_exists"),
        )
        .select_from(feed)
        .outerjoin(studies, studies.c.id == feed.c.study_id)
        .outerjoin(events, within)
        .outerjoin(sample_values, _ITS_VALUE)
        .outerjoin(objectives, objectives.c.id == sample_values.c.objective_id)
        .where(feed.c.until > after, feed.c.since < after + count)
        .order_by(feed.c.until, events.c.seq)
    )
    return [_feed_entry(row) for row in connection.execute(query)]


def _feed_entry(row: Row[Any]) -> FeedEntry:
    return FeedEntry(
        since=row.since,
        until=row.until,
        study_id=row.study_id,
        study=row.study,
        last_seq=row.last_seq,
        fed_at=row.fed_at,
        study_exists=bool(row.study_exists),
        number=row.number,
        event=_event(row) if row.seq is not None else None,
    )


def next_stretch(connection: Connection, after: int) -> Stretch | None:
    query = select(feed.c.since, feed.c.until, feed.c.study_id, feed.c.seq).where(
        feed.c.until > after
    )
    row = connection.execute(query.order_by(feed.c.until).limit(1)).one_or_none()
    return Stretch(*row) if row is not None else None


def first_kept(connection: Connection, study: int, after: int) -> int | None:
    """The first event of a study after this place in its sequence that is still stored."""
    query = select(func.min(events.c.seq)).where(
        events.c.study_id == study, events.c.seq > after
    )
    kept: int | None = connection.execute(query).scalar_one()
    return kept


def studies_with_older(connection: Connection, age_s: float) -> list[tuple[int, int]]:
    """(study, sequence) of the oldest event of each study where that is older than
    this; one seek per study.
    """
    first = events.alias("first")
    oldest = (
        select(func.min(first.c.seq))
        .where(first.c.study_id == studies.c.id)
        .scalar_subquery()
    )
    query = (
        select(events.c.study_id, events.c.seq)
        .join(studies, studies.c.id == events.c.study_id)
        .where(events.c.seq == oldest, events.c.at < database_now() - age_s)
    )
    return [(row.study_id, row.seq) for row in connection.execute(query)]


def trim_events(
    connection: Connection, study: int, oldest: int, count: int, age_s: float
) -> int:
    """Delete a study's events of this age among the `count` oldest; returns how many."""
    some = (
        events.c.study_id == study,
        events.c.seq >= oldest,
        events.c.seq < oldest + count,
    )
    return connection.execute(
        delete(events).where(*some, events.c.at < database_now() - age_s)
    ).rowcount


def trim_feed(connection: Connection, count: int, age_s: float) -> int:
    """Delete the feed's oldest stretches of this age.

    The newest stretch of each existing study is kept, because it records how far the
    study is fed, and the newest of all, because it records the last number.
    """
    later = feed.alias("later")
    has_later = (
        select(later.c.until)
        .where(later.c.study_id == feed.c.study_id, later.c.seq > feed.c.seq)
        .exists()
    )
    is_deleted = ~select(studies.c.id).where(studies.c.id == feed.c.study_id).exists()
    newest = select(func.max(later.c.until)).scalar_subquery()
    old = (
        select(feed.c.until)
        .where(
            feed.c.at < database_now() - age_s,
            has_later | is_deleted,
            feed.c.until < newest,
        )
        .order_by(feed.c.until)
        .limit(count)
    )
    return connection.execute(delete(feed).where(feed.c.until.in_(old))).rowcount
