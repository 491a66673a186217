"""Studies and their objectives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from app.store.clock import database_now
from app.store.tables import objectives, studies


@dataclass(frozen=True, slots=True)
class NewObjective:
    name: str
    lease_s: float
    timeout_s: float | None = None
    same_run_as: str | None = None


def create_study(
    connection: Connection, name: str, spec: dict[str, Any], budget: int, seed: int, wanted: Sequence[NewObjective]
) -> int:
    """Store a study and its objectives, in the order given; answers the study's id."""
    row = {"name": name, "spec": spec, "budget": budget, "seed": seed, "created_at": database_now()}
    study: int = connection.execute(insert(studies).values(row).returning(studies.c.id)).scalar_one()
    ids: dict[str, int] = {}
    # An objective that comes with another one's run refers to it, so the runs themselves are stored first.
    for position, objective in sorted(enumerate(wanted), key=lambda item: item[1].same_run_as is not None):
        ids[objective.name] = connection.execute(
            insert(objectives)
            .values(
                study_id=study,
                position=position,
                name=objective.name,
                same_run_as=ids[objective.same_run_as] if objective.same_run_as else None,
                lease_s=objective.lease_s,
                timeout_s=objective.timeout_s,
            )
            .returning(objectives.c.id)
        ).scalar_one()
    return study


def queues(connection: Connection, study: int) -> dict[str, int]:
    """The study's objectives that have jobs of their own, by name."""
    rows = connection.execute(
        select(objectives.c.name, objectives.c.id)
        .where(objectives.c.study_id == study, objectives.c.same_run_as.is_(None))
        .order_by(objectives.c.position)
    )
    return {row.name: row.id for row in rows}
