"""Workers, known by the name they give; what they did is counted with their attempts.

Lock order: workers last, and by name. An ask holds workers while it waits for nobody; whoever else locks them has
already locked all the studies and jobs that it needs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    RowMapping,
    String,
    bindparam,
    case,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.store.sql.bulk import insert_each
from app.store.sql.clock import database_now
from app.store.sql.in_array import among
from app.store.tables import workers
from app.store.work.attempts import with_leases

FAILURES = ("infeasible", "error", "infrastructure", "lost")
COUNTS = ("done", *FAILURES)


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker that spoke, and what it asked for."""

    name: str
    studies: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    slots: int = 1


class by_code_points(FunctionElement[str]):  # noqa: N801  (reads as a function in queries)
    """In the order of Python's `sorted`, whatever the database's language: all lock workers in the same order."""

    type = String()
    inherit_cache = True


@compiles(by_code_points)
def _plainly(element: by_code_points, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(by_code_points, "postgresql")
def _collated(element: by_code_points, compiler: SQLCompiler, **options: Any) -> str:
    return f'{compiler.process(element.clauses, **options)} COLLATE "C"'


def see_workers(connection: Connection, seen: Sequence[Seen]) -> dict[str, RowMapping]:
    """Note that these workers asked, registering new ones; answers id and `drained` by name."""
    by_name = {one.name: one for one in seen}  # the last word of each counts
    rows = [
        {"name": name, "studies": list(one.studies), "objectives": list(one.objectives), "slots": one.slots}
        for name, one in sorted(by_name.items())  # in one order, so that two batches never lock crosswise
    ]
    if connection.dialect.name == "postgresql":
        found = connection.execute(_SEE_AND_ANSWER, {_SEE.parameter: rows})
    else:
        _SEE.execute(connection, rows)
        found = connection.execute(_KNOWN, {"names": by_name})
    return {row["name"]: row for row in found.mappings()}


_ANSWER = (workers.c.name, workers.c.id, workers.c.drained)
_KNOWN = select(*_ANSWER).where(among(workers.c.name, "names"))


def _see_again(row: Any) -> Any:
    asked = {"studies": row.excluded.studies, "objectives": row.excluded.objectives}
    most = case((row.excluded.slots > workers.c.slots, row.excluded.slots), else_=workers.c.slots)
    return row.on_conflict_do_update(
        index_elements=["name"], set_={"last_seen_at": database_now(), "slots": most, **asked}
    )


_SEE = insert_each(
    workers,
    ("name", "studies", "objectives", "slots"),
    {"first_seen_at": database_now(), "last_seen_at": database_now()},
    _see_again,
)
_SEE_AND_ANSWER = _SEE.postgresql.returning(*_ANSWER)


def seen_within(seconds: float) -> ColumnElement[bool]:
    """Lately. What lies ahead comes from a clock that was set back, and says nothing."""
    return workers.c.last_seen_at.between(database_now() - seconds, database_now() + seconds)


def hear_workers(connection: Connection, leases: Iterable[str]) -> None:
    """Note that whoever holds these leases gave a sign of life."""
    holders = connection.execute(_HOLDERS, {"leases": leases}).scalars().all()
    connection.execute(_HEAR, {"ids": holders})


_held = with_leases("held")
_HOLDERS = (
    select(workers.c.id)
    .where(workers.c.id.in_(select(_held.c.worker_id)))
    .order_by(by_code_points(workers.c.name))
    .with_for_update()
)
_HEAR = update(workers).where(among(workers.c.id, "ids")).values(last_seen_at=database_now())


def count_attempts(connection: Connection, changed: Mapping[str, RowMapping | None]) -> None:
    """Count how these leases' attempts ended. Last in a transaction, and once.

    `changed`: the attempt as it was before this transaction, where it had ended and was counted already.
    """
    if not changed:
        return
    connection.execute(_COUNT, {"leases": changed})
    counted = [attempt for attempt in changed.values() if attempt is not None and attempt["outcome"] is not None]
    for attempt in counted:  # few: expired leases that live again, or have told after all
        what = _COUNTER.get(attempt["outcome"], attempt["failure"])
        took_s = attempt["ended_at"] - attempt["leased_at"]
        minus = {f"less_{name}": int(name == what) for name in COUNTS}
        connection.execute(_UNCOUNT, {"worker": attempt["worker_id"], "less_busy_s": took_s, **minus})


# As what an outcome counts; a failure counts as what it is. What was released or overtaken counts as neither.
_COUNTER = {"done": "done", "late": "done", "duplicate": "done", "expired": "lost"}
_ended = with_leases("ended")
# Literals: each parameter takes its time.
_rules = " ".join(f"WHEN '{outcome}' THEN '{what}'" for outcome, what in _COUNTER.items())
_counted = select(
    _ended.c.worker_id,
    literal_column(f"CASE outcome {_rules} ELSE failure END", String).label("what"),
    # The others end without the worker's word.
    literal_column("CASE WHEN outcome IN ('expired', 'overtaken') THEN 0 ELSE 1 END", Integer).label("spoke"),
    (_ended.c.ended_at - _ended.c.leased_at).label("took_s"),
).subquery("counted")
_sums = (
    select(
        _counted.c.worker_id,
        func.max(_counted.c.spoke).label("spoke"),
        func.coalesce(func.sum(_counted.c.took_s), literal_column("0")).label("busy_s"),
        *(func.count().filter(_counted.c.what == literal_column(f"'{name}'")).label(name) for name in COUNTS),
    )
    .group_by(_counted.c.worker_id)
    .subquery("sums")
)
# Locked in the order of all. Whatever the plan, no worker is changed before this has come to it.
_locked = (
    select(workers.c.id)
    .where(workers.c.id.in_(select(_ended.c.worker_id)))
    .order_by(by_code_points(workers.c.name))
    .with_for_update()
    .cte("locked")
)
_COUNT = (
    update(workers)
    .where(workers.c.id == _sums.c.worker_id, workers.c.id == _locked.c.id)
    .values(
        last_seen_at=case((_sums.c.spoke == literal_column("1"), database_now()), else_=workers.c.last_seen_at),
        **{name: workers.c[name] + _sums.c[name] for name in (*COUNTS, "busy_s")},
    )
)
_UNCOUNT = (
    update(workers)
    .where(workers.c.id == bindparam("worker"))
    .values({name: workers.c[name] - bindparam(f"less_{name}") for name in (*COUNTS, "busy_s")})
)


def drain_worker(connection: Connection, name: str, drained: bool) -> bool:
    """False if no worker has this name."""
    statement = update(workers).where(workers.c.name == name).values(drained=drained)
    return connection.execute(statement).rowcount > 0


def find_worker(connection: Connection, name: str) -> RowMapping:
    return connection.execute(select(workers).where(workers.c.name == name)).mappings().one()


def drained_among(connection: Connection, names: Iterable[str]) -> set[str]:
    return set(connection.execute(_DRAINED, {"names": names}).scalars())


_DRAINED = select(workers.c.name).where(among(workers.c.name, "names"), workers.c.drained)


def worker_names(connection: Connection) -> list[str]:
    return list(connection.execute(select(workers.c.name).order_by(workers.c.id.desc()).limit(1000)).scalars())
