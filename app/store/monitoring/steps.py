"""Parts of the records of search steps: as many rows as asked for, however many steps a
study has.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from app.domain.steps import NO_OBJECTIVE, StepInputs, step_name
from app.store.sql.in_array import in_array
from app.store.tables import samples, steps
from counterpoise.wire.codes import StepKind, StepState


@dataclass(frozen=True, slots=True)
class StepPart:
    """An executed step with the asked parts of its record."""

    id: int
    kind: StepKind
    number: int
    due_at: float
    inputs: StepInputs
    parts: dict[str, Any]  # of its record; None for what was not recorded

    @property
    def name(self) -> str:
        return step_name(self.kind, self.number, NO_OBJECTIVE, ())


def search_steps(
    connection: Connection, study: int, numbers: Collection[int], parts: Sequence[str]
) -> list[StepPart]:
    """The executed search steps with these numbers, in order."""
    query = (
        _select(study, StepKind.SEARCH, parts)
        .where(
            steps.c.objective == NO_OBJECTIVE,
            in_array(steps.c.number, "numbers", numbers),
        )
        .order_by(steps.c.number)
    )
    return [_step_part(row, parts) for row in connection.execute(query)]


def last_closing_step(
    connection: Connection, study: int, parts: Sequence[str]
) -> StepPart | None:
    query = (
        _select(study, StepKind.CLOSING, parts)
        .where(steps.c.objective == NO_OBJECTIVE)
        .order_by(steps.c.number.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _step_part(row, parts)


def _select(study: int, kind: StepKind, parts: Sequence[str]) -> Select[Any]:
    recorded = [steps.c.record[part].label(f"part_{part}") for part in parts]
    return select(
        steps.c.id,
        steps.c.kind,
        steps.c.number,
        steps.c.due_at,
        steps.c.inputs,
        *recorded,
    ).where(
        steps.c.study_id == study,
        steps.c.kind == kind,
        steps.c.state == StepState.DONE,
    )


def _step_part(row: Any, parts: Sequence[str]) -> StepPart:
    return StepPart(
        id=row.id,
        kind=StepKind(row.kind),
        number=row.number,
        due_at=row.due_at,
        inputs=StepInputs.from_json(row.inputs),
        parts={part: getattr(row, f"part_{part}") for part in parts},
    )


def full_samples_of_steps(
    connection: Connection, ids: Collection[int]
) -> dict[int, list[int]]:
    """By step, the full samples that it proposed as such, in its order."""
    query = (
        select(samples.c.step_id, samples.c.id)
        .where(
            in_array(samples.c.step_id, "ids", ids),
            samples.c.full,
            samples.c.promoted_by.is_(None),
        )
        .order_by(samples.c.id)
    )
    found: dict[int, list[int]] = {}
    for row in connection.execute(query):
        found.setdefault(row.step_id, []).append(row.id)
    return found
