"""Attempts of a study in the order in which they began, from the index of each
objective.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, bindparam, or_, select

from app.domain.monitoring.timeline import SlotAttempt
from app.store.sql.in_array import in_array
from app.store.tables import attempts, jobs, workers
from counterpoise.wire.codes import FailureKind, Outcome

_COLUMNS = (
    attempts.c.id,
    attempts.c.job_id,
    attempts.c.number,
    attempts.c.objective_id,
    attempts.c.worker_id,
    attempts.c.leased_at,
    attempts.c.ended_at,
    attempts.c.outcome,
    attempts.c.failure,
    attempts.c.duration_s,
)


@dataclass(frozen=True, slots=True)
class WorkerPresence:
    slots: int  # as the worker declared them
    last_seen_at: float


@dataclass(frozen=True, slots=True)
class JobOfSample:
    sample: int
    cheap_only: bool


def attempts_from(
    connection: Connection,
    objectives: Sequence[int],
    start: float,
    after: int,
    end: float,
    limit: int,
) -> list[SlotAttempt]:
    """The first attempts that began at `start` with a number above `after`, or later,
    but before `end`.

    Reads at most `limit` rows of each objective.
    """
    found: list[SlotAttempt] = []
    for objective in objectives:
        rows = connection.execute(
            BEGUN_FROM,
            {
                "objective": objective,
                "start": start,
                "after": after,
                "end": end,
                "most": limit,
            },
        )
        found += [_slot_attempt(row) for row in rows]
    return sorted(found, key=lambda each: (each.started_at, each.id))[:limit]


_is_of_objective = attempts.c.objective_id == bindparam("objective")
BEGUN_FROM: Select[Any] = (
    select(*_COLUMNS)
    .where(
        _is_of_objective,
        attempts.c.leased_at >= bindparam("start"),
        or_(
            attempts.c.leased_at > bindparam("start"),
            attempts.c.id > bindparam("after"),
        ),
        attempts.c.leased_at < bindparam("end"),
    )
    .order_by(attempts.c.leased_at, attempts.c.id)
    .limit(bindparam("most"))
)


def attempts_running_at(
    connection: Connection, objectives: Sequence[int], time: float, most: int
) -> list[SlotAttempt]:
    """Attempts that began before this time and ended after it, in the order in which
    they began.

    Considers the last `most` of each objective: the runs of one objective take
    similarly long.
    """
    found: list[SlotAttempt] = []
    for objective in objectives:
        rows = connection.execute(
            RUNNING_AT, {"objective": objective, "time": time, "most": most}
        )
        found += [_slot_attempt(row) for row in rows]
    return sorted(found, key=lambda each: (each.started_at, each.id))


_before = (
    select(*_COLUMNS)
    .where(_is_of_objective, attempts.c.leased_at < bindparam("time"))
    .order_by(attempts.c.leased_at.desc(), attempts.c.id.desc())
    .limit(bindparam("most"))
    .subquery("before")
)
RUNNING_AT: Select[Any] = select(_before).where(
    or_(_before.c.ended_at.is_(None), _before.c.ended_at > bindparam("time"))
)


def latest_attempts(
    connection: Connection, objectives: Sequence[int], most: int
) -> list[SlotAttempt]:
    """The last `most` attempts of each objective, in no particular order."""
    found: list[SlotAttempt] = []
    for objective in objectives:
        rows = connection.execute(LATEST, {"objective": objective, "most": most})
        found += [_slot_attempt(row) for row in rows]
    return found


LATEST: Select[Any] = (
    select(*_COLUMNS)
    .where(_is_of_objective)
    .order_by(attempts.c.leased_at.desc(), attempts.c.id.desc())
    .limit(bindparam("most"))
)


def start_of_latest(
    connection: Connection, objectives: Sequence[int], end: float, most: int
) -> float | None:
    """When the first of the last `most` attempts that began before `end` began; None
    if there are fewer. Reads at most `most` rows of each objective.
    """
    times: list[float] = []
    for objective in objectives:
        times += connection.execute(
            BEGUN_BEFORE, {"objective": objective, "end": end, "most": most}
        ).scalars()
    times.sort(reverse=True)
    return times[most - 1] if len(times) >= most else None


BEGUN_BEFORE: Select[Any] = (
    select(attempts.c.leased_at)
    .where(_is_of_objective, attempts.c.leased_at < bindparam("end"))
    .order_by(attempts.c.leased_at.desc())
    .limit(bindparam("most"))
)


def attempts_by_id(
    connection: Connection, ids: Collection[int]
) -> dict[int, SlotAttempt]:
    query = select(*_COLUMNS).where(in_array(attempts.c.id, "ids", ids))
    return {row.id: _slot_attempt(row) for row in connection.execute(query)}


def names_of_workers(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    query = select(workers.c.id, workers.c.name).where(
        in_array(workers.c.id, "ids", ids)
    )
    return {row.id: row.name for row in connection.execute(query)}


def presence_of_workers(
    connection: Connection, ids: Collection[int]
) -> dict[int, WorkerPresence]:
    query = select(workers.c.id, workers.c.slots, workers.c.last_seen_at).where(
        in_array(workers.c.id, "ids", ids)
    )
    return {
        row.id: WorkerPresence(row.slots, row.last_seen_at)
        for row in connection.execute(query)
    }


def samples_of_jobs(
    connection: Connection, ids: Collection[int]
) -> dict[int, JobOfSample]:
    query = select(jobs.c.id, jobs.c.sample_id, jobs.c.cheap_only).where(
        in_array(jobs.c.id, "ids", ids)
    )
    return {
        row.id: JobOfSample(row.sample_id, row.cheap_only)
        for row in connection.execute(query)
    }


def _slot_attempt(row: Any) -> SlotAttempt:
    return SlotAttempt(
        id=row.id,
        job=row.job_id,
        number=row.number,
        objective=row.objective_id,
        worker=row.worker_id,
        started_at=row.leased_at,
        ended_at=row.ended_at,
        outcome=Outcome(row.outcome) if row.outcome is not None else None,
        failure=FailureKind(row.failure) if row.failure is not None else None,
        duration_s=row.duration_s,
    )
