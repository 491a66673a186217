"""Steps: due, claimed by a planner, done. A step's identity is unique; its samples appear with it or not at all."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Double, Row, bindparam, delete, or_, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from app.fault_points import point
from app.store.sql.clock import database_now, new_lease
from app.store.tables import steps, studies

LONGEST_CLAIM_S, LONGEST_RETRY_S = 120.0, 301.0
DUE = text("steps.state = 'due'")


def make_due(
    connection: Connection, study: int, kind: str, number: int, seq: int, inputs: dict[str, Any], objective: int = -1
) -> bool:
    """Note that a step is due; False if it was before."""
    row = {"study_id": study, "kind": kind, "objective": objective, "number": number, "due_seq": seq, "inputs": inputs}
    return connection.execute(_MAKE_DUE[connection.dialect.name], row).rowcount > 0


_MAKE_DUE = {
    dialect: insert(steps).values(due_at=database_now()).on_conflict_do_nothing()
    for dialect, insert in (("postgresql", postgresql.insert), ("sqlite", sqlite.insert))
}


def due_steps(connection: Connection, study: int) -> list[Row[Any]]:
    return list(connection.execute(_DUE_STEPS, {"study": study}).all())


_DUE_STEPS = select(steps).where(steps.c.study_id == bindparam("study"), DUE)


def drop_due(connection: Connection, study: int, kinds: Sequence[str]) -> None:
    """Forget steps that are due but no longer wanted; a planner that prepares one finds its claim gone."""
    connection.execute(delete(steps).where(steps.c.study_id == study, steps.c.kind.in_(kinds), DUE))


def any_to_claim(connection: Connection) -> bool:
    """Is there anything to claim? Locks nothing: planners ask whenever anything has changed."""
    return connection.execute(_FIRST).first() is not None


def claim(connection: Connection, for_s: float) -> Row[Any] | None:
    """Take the step that has been due longest in any active study, if nobody has it."""
    step = connection.execute(_CLAIM, {"for_s": for_s}).one_or_none()
    point("claim.written")
    return step


_now = database_now()
# What lies further ahead than it ever should comes from a clock that was set back.
_until, _again = steps.c.claim_expires_at, steps.c.retry_at
_FIRST = (
    select(steps.c.id)
    .join(studies, studies.c.id == steps.c.study_id)
    .where(
        DUE,
        or_(_until.is_(None), _until < _now, _until > _now + LONGEST_CLAIM_S),
        or_(_again.is_(None), _again <= _now, _again > _now + LONGEST_RETRY_S),
        studies.c.state == "active",
    )
    .order_by(steps.c.due_at, steps.c.id)
    .limit(1)
)
_first = _FIRST.with_for_update(skip_locked=True, of=steps).cte("first")
_CLAIM = (
    update(steps)
    .where(steps.c.id.in_(select(_first.c.id)), steps.c.state == "due")
    .values(claim=new_lease(), claim_expires_at=_now + bindparam("for_s", type_=Double()))
    .returning(*steps.c)
)


def keep_claim(connection: Connection, step: int, token: str, for_s: float) -> bool:
    """Prolong a claim; False if it was lost."""
    mine = (steps.c.id == step, steps.c.claim == token, steps.c.state == "due")
    statement = update(steps).where(*mine).values(claim_expires_at=database_now() + for_s)
    return connection.execute(statement).rowcount > 0


def finish_step(connection: Connection, step: int, token: str, record: dict[str, Any]) -> bool:
    """due -> done for the holder of the claim; False if it was lost."""
    return connection.execute(_FINISH, {"step": step, "token": token, "said": record}).rowcount > 0


_FINISH = (
    update(steps)
    .where(steps.c.id == bindparam("step"), steps.c.claim == bindparam("token"), steps.c.state == "due")
    .values(
        state="done",
        done_at=database_now(),
        record=bindparam("said", type_=steps.c.record.type),
        claim=None,
        claim_expires_at=None,
        fault=None,
    )
)


def fail_step(connection: Connection, step: int, token: str, fault: str, backoff_s: float) -> bool:
    """Note a fault and give the step back, to be tried again later; False if the claim was lost."""
    statement = (
        update(steps)
        .where(steps.c.id == step, steps.c.claim == token, steps.c.state == "due")
        .values(
            claim=None,
            claim_expires_at=None,
            faults=steps.c.faults + 1,
            fault=fault,
            retry_at=database_now() + backoff_s,
        )
    )
    return connection.execute(statement).rowcount > 0


def give_back(connection: Connection, step: int, token: str) -> None:
    """End a claim without a fault (the planner stops, or the study was paused)."""
    mine = (steps.c.id == step, steps.c.claim == token)
    connection.execute(update(steps).where(*mine).values(claim=None, claim_expires_at=None))


def steps_of(
    connection: Connection, study: int, kind: str | None = None, *, after: int = 0, limit: int = 1_000_000
) -> list[Row[Any]]:
    query = select(steps).where(steps.c.study_id == study, steps.c.id > after).order_by(steps.c.id).limit(limit)
    if kind is not None:
        query = query.where(steps.c.kind == kind)
    return list(connection.execute(query).all())


def last_records(connection: Connection, study: int, count: int) -> list[Row[Any]]:
    """The latest steps that looked at the whole study, newest first."""
    kinds = steps.c.kind.in_(("search", "closing"))
    query = select(steps).where(steps.c.study_id == study, steps.c.state == "done", kinds)
    return list(connection.execute(query.order_by(steps.c.id.desc()).limit(count)).all())
