"""Events: what happened in a study, by its sequence; and the feed, one order for the events of all studies.

An event of the feed has a number, without gaps. Numbers are given afterwards, by whoever reads the feed: settling takes
only its own study's lock.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, case, delete, func, insert, select, text, update

from app.store.sql.bulk import insert_each
from app.store.sql.clock import database_now
from app.store.sql.in_array import among
from app.store.tables import events, feed, objectives, sample_values, studies

_TOLD = (
    events.c.seq,
    events.c.at,
    events.c.kind,
    events.c.body,
    sample_values.c.sample_id.label("sample"),
    objectives.c.name.label("objective"),
    sample_values.c.value,
    sample_values.c.failure,
)


def study_sequences(connection: Connection) -> dict[int, int]:
    """How far each study's sequence has come: the one query that a server asks while anybody listens."""
    return {row.id: row.sequence for row in connection.execute(select(studies.c.id, studies.c.sequence))}


def sequence_of(connection: Connection, study: int) -> Row[Any] | None:
    query: Select[Any] = select(studies.c.name, studies.c.sequence).where(studies.c.id == study)
    return connection.execute(query).one_or_none()


def events_of(connection: Connection, study: int, after: int, limit: int) -> list[Row[Any]]:
    value = and_(sample_values.c.study_id == events.c.study_id, sample_values.c.seq == events.c.seq)
    query: Select[Any] = (
        select(*_TOLD)
        .outerjoin(sample_values, value)
        .outerjoin(objectives, objectives.c.id == sample_values.c.objective_id)
        .where(events.c.study_id == study, events.c.seq > after)
        .order_by(events.c.seq)
        .limit(limit)
    )
    return list(connection.execute(query).all())


def _lock_feed(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        connection.execute(text("LOCK TABLE feed IN EXCLUSIVE MODE"))


def last_number(connection: Connection) -> int:
    return int(connection.execute(select(func.coalesce(func.max(feed.c.until), 0))).scalar_one())


def append_to_feed(connection: Connection, changed: Sequence[int]) -> None:
    """Number what these studies have that the feed has not."""
    _lock_feed(connection)
    fed = select(func.max(feed.c.seq)).where(feed.c.study_id == studies.c.id).scalar_subquery()
    query = select(studies.c.id, studies.c.name, studies.c.sequence, func.coalesce(fed, 0).label("fed"))
    newest = connection.execute(select(feed).order_by(feed.c.until.desc()).limit(1)).one_or_none()
    number = newest.until if newest else 0
    rows = []
    query = query.where(among(studies.c.id, "ids")).order_by(studies.c.id)
    for study in connection.execute(query, {"ids": list(changed)}):
        if study.sequence > study.fed:
            since, number = number, number + study.sequence - study.fed
            rows.append(
                {"since": since, "until": number, "study_id": study.id, "study": study.name, "seq": study.sequence}
            )
    if rows and newest is not None and newest.study_id == rows[0]["study_id"] and newest.seq is not None:
        grown = {name: rows[0][name] for name in ("until", "seq")}  # the same study again: the same stretch
        connection.execute(update(feed).where(feed.c.until == newest.until).values(at=database_now(), **grown))
        rows = rows[1:]
    _APPEND.execute(connection, rows)


_APPEND = insert_each(feed, ("since", "until", "study_id", "study", "seq"), {"at": database_now()})


def feed_deletion(connection: Connection, study: int, name: str) -> None:
    """The last word on a study, which its own events cannot say: they go with it."""
    _lock_feed(connection)
    number = last_number(connection)
    row = {"since": number, "until": number + 1, "study_id": study, "study": name, "seq": None}
    connection.execute(insert(feed).values(at=database_now(), **row))


def read_feed(connection: Connection, after: int, count: int) -> list[Row[Any]]:
    """The stretches of the feed that overlap the next `count` numbers, with their events among these numbers.

    A stretch whose events are gone has one row without an event. A window of numbers, not a limit of rows: a stretch
    may be a million events long, and sorting it for every page would cost as much.
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
    value = and_(sample_values.c.study_id == events.c.study_id, sample_values.c.seq == events.c.seq)
    query: Select[Any] = (
        select(
            *_TOLD,
            number.label("number"),
            feed.c.since,
            feed.c.until,
            feed.c.study,
            feed.c.study_id,
            feed.c.seq.label("last_seq"),
            feed.c.at.label("fed_at"),
            studies.c.id.is_not(None).label("alive"),
        )
        .select_from(feed)
        .outerjoin(studies, studies.c.id == feed.c.study_id)
        .outerjoin(events, within)
        .outerjoin(sample_values, value)
        .outerjoin(objectives, objectives.c.id == sample_values.c.objective_id)
        .where(feed.c.until > after, feed.c.since < after + count)
        .order_by(feed.c.until, events.c.seq)
    )
    return list(connection.execute(query).all())


def next_stretch(connection: Connection, after: int) -> Row[Any] | None:
    return connection.execute(select(feed).where(feed.c.until > after).order_by(feed.c.until).limit(1)).one_or_none()


def first_kept(connection: Connection, study: int, after: int) -> Any:
    """The first event of a study beyond this place in its sequence that is still there."""
    query = select(func.min(events.c.seq)).where(events.c.study_id == study, events.c.seq > after)
    return connection.execute(query).scalar_one()


def studies_with_older(connection: Connection, age_s: float) -> list[Row[Any]]:
    """Studies whose oldest event is older than this, with its place in the sequence; one look per study."""
    each = events.alias("each")
    oldest = select(func.min(each.c.seq)).where(each.c.study_id == studies.c.id).scalar_subquery()
    query: Select[Any] = (
        select(events.c.study_id, events.c.seq)
        .join(studies, studies.c.id == events.c.study_id)
        .where(events.c.seq == oldest, events.c.at < database_now() - age_s)
    )
    return list(connection.execute(query).all())


def trim_events(connection: Connection, study: int, oldest: int, count: int, age_s: float) -> int:
    """Forget a study's events of this age among the `count` oldest; answers how many."""
    some = (events.c.study_id == study, events.c.seq >= oldest, events.c.seq < oldest + count)
    return connection.execute(delete(events).where(*some, events.c.at < database_now() - age_s)).rowcount


def trim_feed(connection: Connection, count: int, age_s: float) -> int:
    """Forget the feed's oldest stretches of this age, but the newest of each living study, which says how far it is
    fed, and the newest of all, which says how far the numbers are."""
    later = feed.alias("later")
    again = select(later.c.until).where(later.c.study_id == feed.c.study_id, later.c.seq > feed.c.seq).exists()
    gone = ~select(studies.c.id).where(studies.c.id == feed.c.study_id).exists()
    newest = select(func.max(later.c.until)).scalar_subquery()
    old = (
        select(feed.c.until)
        .where(feed.c.at < database_now() - age_s, again | gone, feed.c.until < newest)
        .order_by(feed.c.until)
        .limit(count)
    )
    return connection.execute(delete(feed).where(feed.c.until.in_(old))).rowcount
