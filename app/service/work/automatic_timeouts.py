"""Time limits of runs that declare `timeout_s: "auto"`: they follow the measured
durations.
"""

from app.domain.planning.ratios import LAST_DURATIONS
from app.domain.studies import Objective, Study
from app.domain.work.hanging_runs import longest_expected_s
from app.service.write_each import write_each
from app.store.database import Connection, Database
from app.store.studies.evaluations import last_durations
from app.store.studies.studies import (
    active_studies,
    change_objective,
    objectives_of_all,
)
from counterpoise.wire.specification import AUTO


def follow_durations(database: Database) -> int:
    """Update the limits of all active studies; returns how many have changed."""
    changed: dict[int, float] = {}
    with database.read() as connection:
        studies = active_studies(connection)
        objectives = objectives_of_all(connection, [study.id for study in studies])
        for study in studies:
            changed |= _limits(connection, study, objectives[study.id])
    write_each(database, _change, changed)
    return len(changed)


def _change(connection: Connection, objective: int, timeout_s: float) -> None:
    change_objective(connection, objective, timeout_s=timeout_s)


def _limits(
    connection: Connection, study: Study, objectives: list[Objective]
) -> dict[int, float]:
    """By objective: a limit that differs from the present one."""
    automatic = [
        objective
        for objective in objectives
        if study.spec.outputs[objective.position].timeout_s == AUTO
    ]
    durations = last_durations(
        connection, [objective.id for objective in automatic], LAST_DURATIONS
    )
    found = {}
    for objective in automatic:
        limit_s = longest_expected_s(durations[objective.id])
        if limit_s is not None and limit_s != objective.timeout_s:
            found[objective.id] = limit_s
    return found
