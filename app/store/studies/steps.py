"""Steps: due, claimed by a planner, done.

A step's identity is unique; its samples appear with it or not at all.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    Double,
    bindparam,
    delete,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from app.domain.steps import (
    CLAIM_S,
    LONGEST_RETRY_S,
    NO_OBJECTIVE,
    Step,
    StepInputs,
)
from app.fault_points import point
from app.store.records import step_from_row
from app.store.sql.clock import database_now, new_lease
from app.store.tables import steps, studies
from counterpoise.wire.codes import StepKind, StepState, StudyState

# Deadlines further ahead come from a clock that was set back
LONGEST_CLAIM_AHEAD_S = 4.0 * CLAIM_S
LONGEST_RETRY_AHEAD_S = LONGEST_RETRY_S + 1.0
# A literal, so that a prepared plan can use the partial index
DUE = text("steps.state = 'due'")


def make_due(
    connection: Connection,
    study: int,
    kind: StepKind,
    number: int,
    seq: int,
    inputs: StepInputs,
    objective: int = NO_OBJECTIVE,
) -> bool:
    """Record that a step is due and may read the sequence up to `seq`; False if it was
    due before.
    """
    row = {
        "study_id": study,
        "kind": kind,
        "objective": objective,
        "number": number,
        "due_seq": seq,
        "inputs": inputs.as_json(),
    }
    return connection.execute(_MAKE_DUE[connection.dialect.name], row).rowcount > 0


_MAKE_DUE = {
    dialect: insert(steps).values(due_at=database_now()).on_conflict_do_nothing()
    for dialect, insert in (
        ("postgresql", postgresql.insert),
        ("sqlite", sqlite.insert),
    )
}


def due_steps(connection: Connection, study: int) -> list[Step]:
    return [
        step_from_row(row) for row in connection.execute(_DUE_STEPS, {"study": study})
    ]


_DUE_STEPS = select(steps).where(steps.c.study_id == bindparam("study"), DUE)


def drop_due(connection: Connection, study: int, kinds: Sequence[StepKind]) -> None:
    """Delete steps that are due but no longer wanted; a planner that computes one finds
    its claim gone.
    """
    connection.execute(
        delete(steps).where(steps.c.study_id == study, steps.c.kind.in_(kinds), DUE)
    )


def any_to_claim(connection: Connection) -> bool:
    """Whether there is a step to claim.

    Locks nothing: planners query this whenever anything has changed.
    """
    return connection.execute(_FIRST).first() is not None


def claim_step(connection: Connection, for_s: float) -> Step | None:
    """Claim the step that has been due longest in any active study."""
    row = connection.execute(_CLAIM, {"for_s": for_s}).one_or_none()
    point("claim.written")
    return step_from_row(row) if row is not None else None


_now = database_now()
_claimed_until, _retry_at = steps.c.claim_expires_at, steps.c.retry_at
# Times further ahead than they can be come from a clock that was set back.
_FIRST = (
    select(steps.c.id)
    .join(studies, studies.c.id == steps.c.study_id)
    .where(
        DUE,
        or_(
            _claimed_until.is_(None),
            _claimed_until < _now,
            _claimed_until > _now + LONGEST_CLAIM_AHEAD_S,
        ),
        or_(
            _retry_at.is_(None),
            _retry_at <= _now,
            _retry_at > _now + LONGEST_RETRY_AHEAD_S,
        ),
        studies.c.state == StudyState.ACTIVE,
    )
    .order_by(steps.c.due_at, steps.c.id)
    .limit(1)
)
_first = _FIRST.with_for_update(skip_locked=True, of=steps).cte("first")
_CLAIM = (
    update(steps)
    .where(steps.c.id.in_(select(_first.c.id)), steps.c.state == StepState.DUE)
    .values(
        claim=new_lease(), claim_expires_at=_now + bindparam("for_s", type_=Double())
    )
    .returning(*steps.c)
)


def extend_claim(connection: Connection, step: Step, for_s: float) -> bool:
    """False if the claim was lost."""
    statement = (
        update(steps)
        .where(*_is_claimed_by(step))
        .values(claim_expires_at=database_now() + for_s)
    )
    return connection.execute(statement).rowcount > 0


def finish_step(connection: Connection, step: Step, record: dict[str, Any]) -> bool:
    """due -> done for the holder of the claim; False if the claim was lost."""
    statement = (
        update(steps)
        .where(*_is_claimed_by(step))
        .values(
            state=StepState.DONE,
            done_at=database_now(),
            record=record,
            claim=None,
            claim_expires_at=None,
            fault=None,
        )
    )
    return connection.execute(statement).rowcount > 0


def fail_step(connection: Connection, step: Step, fault: str, backoff_s: float) -> bool:
    """Record a fault and end the claim, to be tried again later; False if the claim was
    lost.
    """
    statement = (
        update(steps)
        .where(*_is_claimed_by(step))
        .values(
            claim=None,
            claim_expires_at=None,
            faults=steps.c.faults + 1,
            fault=fault,
            retry_at=database_now() + backoff_s,
        )
    )
    return connection.execute(statement).rowcount > 0


def _is_claimed_by(step: Step) -> tuple[Any, ...]:
    return (
        steps.c.id == step.id,
        steps.c.claim == step.claim,
        steps.c.state == StepState.DUE,
    )


def give_back_claim(connection: Connection, step: Step) -> None:
    """End a claim without a fault (the planner stops, or the study was paused)."""
    is_mine = (steps.c.id == step.id, steps.c.claim == step.claim)
    connection.execute(
        update(steps).where(*is_mine).values(claim=None, claim_expires_at=None)
    )


def steps_of(
    connection: Connection,
    study: int,
    kind: StepKind | None = None,
    *,
    after: int = 0,
    limit: int = 1_000_000,
) -> list[Step]:
    query = (
        select(steps)
        .where(steps.c.study_id == study, steps.c.id > after)
        .order_by(steps.c.id)
        .limit(limit)
    )
    if kind is not None:
        query = query.where(steps.c.kind == kind)
    return [step_from_row(row) for row in connection.execute(query)]


def count_steps(connection: Connection, study: int, kind: StepKind) -> int:
    query = select(func.count()).where(steps.c.study_id == study, steps.c.kind == kind)
    return connection.execute(query).scalar_one()


def find_step(
    connection: Connection, study: int, kind: StepKind, number: int
) -> Step | None:
    """A step that belongs to no stream."""
    query = select(steps).where(
        steps.c.study_id == study, steps.c.kind == kind, steps.c.number == number
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else step_from_row(row)


def last_recorded_steps(connection: Connection, study: int, count: int) -> list[Step]:
    """The latest executed steps that recorded the hypervolume, newest first."""
    kinds = steps.c.kind.in_((StepKind.SEARCH, StepKind.CLOSING))
    query = select(steps).where(
        steps.c.study_id == study, steps.c.state == StepState.DONE, kinds
    )
    return [
        step_from_row(row)
        for row in connection.execute(query.order_by(steps.c.id.desc()).limit(count))
    ]
