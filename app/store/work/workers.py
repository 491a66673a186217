"""Workers: registration, signs of life, and how their attempts ended.

Lock order: workers last, and by name. An ask holds workers while it waits for nothing
else; every other transaction that locks workers has locked all the studies and jobs
that it needs before.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    String,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.domain.jobs import Attempt
from app.domain.workers import (
    ALIVE_S,
    COUNTED_AS,
    FAILURE_COUNTS,
    HeldLease,
    RunningJob,
    Worker,
    WorkerSeen,
)
from app.store.records import worker_from_row
from app.store.sql.bulk import bulk_insert
from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.tables import LEASED, attempts, jobs, objectives, workers
from app.store.work.attempts import attempts_with_leases
from counterpoise.wire.codes import Outcome

COUNTERS = ("done", *FAILURE_COUNTS)


class by_code_points(FunctionElement[str]):  # noqa: N801  (reads as a function in queries)
    """Text in the order of Python's `sorted`, whatever the database's language, so that
    all lock in one order.
    """

    type = String()
    inherit_cache = True


@compiles(by_code_points)
def _plain(element: by_code_points, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(by_code_points, "postgresql")
def _collated(element: by_code_points, compiler: SQLCompiler, **options: Any) -> str:
    return f'{compiler.process(element.clauses, **options)} COLLATE "C"'


@dataclass(frozen=True, slots=True)
class KnownWorker:
    id: int
    drained: bool


def register_workers(
    connection: Connection, seen: Iterable[WorkerSeen]
) -> dict[str, KnownWorker]:
    """Record that these workers asked, adding new ones. Returns them by name."""
    by_name = {worker.name: worker for worker in seen}  # the last ask of each counts
    # Sorted, so that two batches never lock in opposite orders.
    rows = [_worker_row(by_name[name]) for name in sorted(by_name)]
    if connection.dialect.name == "postgresql":
        known = connection.execute(_REGISTER_RETURNING, {_REGISTER.parameter: rows})
    else:
        _REGISTER.execute(connection, rows)
        known = connection.execute(_KNOWN, {"names": by_name})
    return {row.name: KnownWorker(row.id, row.drained) for row in known}


def _worker_row(worker: WorkerSeen) -> dict[str, Any]:
    return {
        "name": worker.name,
        "studies": list(worker.studies),
        "objectives": list(worker.objectives),
        "slots": worker.slots,
        "instance": worker.instance,
    }


_KNOWN_COLUMNS = (workers.c.name, workers.c.id, workers.c.drained)
_KNOWN = select(*_KNOWN_COLUMNS).where(in_array(workers.c.name, "names"))


def _update_known(insert: Any) -> Any:
    new = insert.excluded
    most_slots = case((new.slots > workers.c.slots, new.slots), else_=workers.c.slots)
    is_other = new.instance != workers.c.instance  # null if one is not known
    is_back = new.instance == workers.c.other_instance
    changes = {
        "last_seen_at": database_now(),
        "studies": new.studies,
        "objectives": new.objectives,
        "slots": most_slots,
        "instance": func.coalesce(new.instance, workers.c.instance),
        "other_instance": case(
            (is_other, workers.c.instance), else_=workers.c.other_instance
        ),
        "shared_at": case((is_back, database_now()), else_=workers.c.shared_at),
        "left_at": None,
    }
    return insert.on_conflict_do_update(index_elements=["name"], set_=changes)


_REGISTER = bulk_insert(
    workers,
    ("name", "studies", "objectives", "slots", "instance"),
    {"first_seen_at": database_now(), "last_seen_at": database_now()},
    _update_known,
)
_REGISTER_RETURNING = _REGISTER.postgresql.returning(*_KNOWN_COLUMNS)


def seen_within(seconds: float) -> ColumnElement[bool]:
    """Times ahead of now come from a clock that was set back, and count as far as those
    behind.
    """
    return workers.c.last_seen_at.between(
        database_now() - seconds, database_now() + seconds
    )


def record_sign_of_life(connection: Connection, leases: Iterable[str]) -> None:
    """Record that the workers that hold these leases were seen, and whether one of them
    is a process whose name another process has taken since.
    """
    holders = connection.execute(_LOCK_HOLDERS, {"leases": leases}).all()
    connection.execute(_SEEN_NOW, {"ids": [row.id for row in holders]})
    shared = [row.id for row in holders if row.is_shared]
    if shared:
        connection.execute(_SHARED_NOW, {"ids": shared})


_held = attempts_with_leases("held")
_is_shared = exists().where(
    _held.c.worker_id == workers.c.id,
    _held.c.instance != workers.c.instance,
    workers.c.left_at.is_(None),
)
_LOCK_HOLDERS = (
    select(workers.c.id, _is_shared.label("is_shared"))
    .where(workers.c.id.in_(select(_held.c.worker_id)))
    .order_by(by_code_points(workers.c.name))
    .with_for_update()
)
_SEEN_NOW = (
    update(workers)
    .where(in_array(workers.c.id, "ids"))
    .values(last_seen_at=database_now())
)
_SHARED_NOW = (
    update(workers)
    .where(in_array(workers.c.id, "ids"))
    .values(shared_at=database_now())
)


def count_attempts(connection: Connection, ended: Mapping[str, Attempt | None]) -> None:
    """Count how the attempts of these leases ended. Last in a transaction, and once.

    `ended`: by lease, the attempt as it was before this transaction, where it is known;
    one that had ended before was counted then, and is taken back.
    """
    if not ended:
        return
    connection.execute(COUNT_ATTEMPTS, {"leases": ended})
    for attempt in (
        ended.values()
    ):  # few: expired leases that were revived, or have told after all
        if attempt is not None and attempt.outcome is not None:
            _take_back(connection, attempt)


def _take_back(connection: Connection, attempt: Attempt) -> None:
    assert attempt.outcome is not None and attempt.ended_at is not None  # noqa: PT018, S101
    counter = COUNTED_AS.get(attempt.outcome, attempt.failure)
    less = {f"less_{name}": int(name == counter) for name in COUNTERS}
    busy_s = attempt.ended_at - attempt.leased_at
    connection.execute(
        _UNCOUNT, {"worker": attempt.worker, "less_busy_s": busy_s, **less}
    )


_ended = attempts_with_leases("ended")
_ENDED_BY_OTHERS = f"('{Outcome.EXPIRED}', '{Outcome.OVERTAKEN}')"
# Literals: each parameter costs time.
_cases = " ".join(
    f"WHEN '{outcome}' THEN '{counter}'" for outcome, counter in COUNTED_AS.items()
)
_counted = select(
    _ended.c.worker_id,
    literal_column(f"CASE outcome {_cases} ELSE failure END", String).label("counter"),
    # Expired and overtaken attempts end without a request of the worker.
    literal_column(
        f"CASE WHEN outcome IN {_ENDED_BY_OTHERS} THEN 0 ELSE 1 END", Integer
    ).label("was_seen"),
    (_ended.c.ended_at - _ended.c.leased_at).label("busy_s"),
).subquery("counted")
_sums = (
    select(
        _counted.c.worker_id,
        func.max(_counted.c.was_seen).label("was_seen"),
        func.coalesce(func.sum(_counted.c.busy_s), literal_column("0")).label("busy_s"),
        *(
            func.count()
            .filter(_counted.c.counter == literal_column(f"'{name}'"))
            .label(name)
            for name in COUNTERS
        ),
    )
    .group_by(_counted.c.worker_id)
    .subquery("sums")
)
# Locked by name. Whatever the plan, no worker is changed before this CTE has reached
# it.
_locked = (
    select(workers.c.id)
    .where(workers.c.id.in_(select(_ended.c.worker_id)))
    .order_by(by_code_points(workers.c.name))
    .with_for_update()
    .cte("locked")
)
COUNT_ATTEMPTS = (
    update(workers)
    .where(workers.c.id == _sums.c.worker_id, workers.c.id == _locked.c.id)
    .values(
        last_seen_at=case(
            (_sums.c.was_seen == literal_column("1"), database_now()),
            else_=workers.c.last_seen_at,
        ),
        **{name: workers.c[name] + _sums.c[name] for name in (*COUNTERS, "busy_s")},
    )
)
_UNCOUNT = (
    update(workers)
    .where(workers.c.id == bindparam("worker"))
    .values(
        {
            name: workers.c[name] - bindparam(f"less_{name}")
            for name in (*COUNTERS, "busy_s")
        }
    )
)


def leases_of_process(connection: Connection, worker: str, instance: str) -> list[str]:
    """The current leases of one process of a worker."""
    query = (
        select(jobs.c.lease)
        .join(attempts, attempts.c.lease == jobs.c.lease)
        .join(workers, workers.c.id == attempts.c.worker_id)
        .where(
            jobs.c.state == LEASED,
            workers.c.name == worker,
            attempts.c.instance == instance,
        )
        .order_by(jobs.c.id)
    )
    return list(connection.execute(query).scalars())


def record_end(connection: Connection, worker: str, instance: str) -> None:
    """The process has ended; if another one has asked since, the worker goes on."""
    connection.execute(
        update(workers)
        .where(workers.c.name == worker, workers.c.instance == instance)
        .values(left_at=database_now())
    )


def drain_worker(connection: Connection, name: str, drained: bool) -> bool:
    """False if no worker has this name."""
    statement = update(workers).where(workers.c.name == name).values(drained=drained)
    return connection.execute(statement).rowcount > 0


def find_worker(connection: Connection, name: str) -> Worker:
    return worker_from_row(
        connection.execute(select(workers).where(workers.c.name == name)).one()
    )


def drained_among(connection: Connection, names: Iterable[str]) -> set[str]:
    return set(connection.execute(_DRAINED, {"names": names}).scalars())


_DRAINED = select(workers.c.name).where(
    in_array(workers.c.name, "names"), workers.c.drained
)


def worker_names(connection: Connection) -> list[str]:
    return list(
        connection.execute(
            select(workers.c.name).order_by(workers.c.id.desc()).limit(1000)
        ).scalars()
    )


def page_of_workers(connection: Connection, after: int, limit: int) -> list[Worker]:
    query = (
        select(workers).where(workers.c.id > after).order_by(workers.c.id).limit(limit)
    )
    return [worker_from_row(row) for row in connection.execute(query)]


def forget_idle_workers(connection: Connection, idle_s: float, most: int) -> int:
    """Delete workers that were not seen for so long, never had a job, and are not
    drained; returns how many.
    """
    has_attempt = select(attempts.c.id).where(attempts.c.worker_id == workers.c.id)
    is_idle = and_(
        workers.c.last_seen_at < database_now() - idle_s,
        ~workers.c.drained,
        ~has_attempt.exists(),
    )
    some = select(workers.c.id).where(is_idle).limit(most)
    # The condition again: a worker may ask between the two
    statement = delete(workers).where(workers.c.id.in_(some), is_idle)
    return connection.execute(statement).rowcount


def held_leases(
    connection: Connection, holders: Collection[int] | None = None
) -> dict[int, list[HeldLease]]:
    """The current leases by worker (id), of all workers or of some."""
    query = (
        select(attempts.c.worker_id, jobs.c.id, attempts.c.leased_at)
        .join(jobs, jobs.c.id == attempts.c.job_id)
        .where(jobs.c.state == LEASED, attempts.c.lease == jobs.c.lease)
        .order_by(jobs.c.id)
    )
    if holders is not None:
        query = query.where(in_array(attempts.c.worker_id, "holders", holders))
    held: dict[int, list[HeldLease]] = {}
    for row in connection.execute(query):
        held.setdefault(row.worker_id, []).append(HeldLease(row.id, row.leased_at))
    return held


def running_jobs(connection: Connection, study: int) -> list[RunningJob]:
    """The study's leased jobs, oldest lease first; as many rows as there are."""
    query = (
        select(
            jobs.c.id.label("job"),
            objectives.c.id.label("objective"),
            objectives.c.name.label("objective_name"),
            workers.c.id.label("worker_id"),
            workers.c.name.label("worker"),
            attempts.c.leased_at,
        )
        .select_from(objectives)
        .join(jobs, jobs.c.objective_id == objectives.c.id)
        .join(attempts, attempts.c.lease == jobs.c.lease)
        .join(workers, workers.c.id == attempts.c.worker_id)
        .where(objectives.c.study_id == study, jobs.c.state == LEASED)
        .order_by(attempts.c.leased_at)
    )
    return [RunningJob(**row) for row in connection.execute(query).mappings()]


def live_workers(
    connection: Connection, holding: Collection[int] = ()
) -> Sequence[Worker]:
    """Workers that were seen recently and have not ended, and those (ids) that hold
    jobs.
    """
    was_seen = seen_within(ALIVE_S) & workers.c.left_at.is_(None)
    is_alive = was_seen | in_array(workers.c.id, "ids", holding)
    return [
        worker_from_row(row)
        for row in connection.execute(select(workers).where(is_alive))
    ]
