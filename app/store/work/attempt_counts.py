"""How the attempts of each worker ended, counted in the transaction that ends them.

Lock order: see `workers`.
"""

from collections.abc import Mapping

from sqlalchemy import (
    Connection,
    Integer,
    String,
    bindparam,
    case,
    func,
    literal_column,
    select,
    update,
)

from app.domain.jobs import Attempt
from app.domain.workers import COUNTED_AS, FAILURE_COUNTS
from app.store.sql.clock import database_now
from app.store.sql.code_points import by_code_points
from app.store.tables import workers
from app.store.work.attempts import attempts_with_leases
from counterpoise.wire.codes import Outcome

COUNTERS = ("done", *FAILURE_COUNTS)


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
