"""How many full samples a study with `overlap` or `batch_size` "auto" keeps running: it
follows the live slots that serve its slowest runs, and the time that planning takes.
"""

import statistics
from collections.abc import Sequence

from app.domain.planning.ratios import LAST_DURATIONS
from app.domain.planning.stepping import planned_ahead
from app.domain.steps import Step
from app.domain.studies import Objective, Study, slow_runs
from app.domain.workers import Worker
from app.service.planning.schedule import schedule_due_steps
from app.service.write_each import write_each
from app.store.database import Connection, Database
from app.store.sql.clock import database_time
from app.store.studies.evaluations import last_durations
from app.store.studies.studies import (
    active_studies,
    change_study,
    find_study_by_id,
    objectives_of_all,
)
from app.store.work.live_workers import held_leases, live_workers
from app.store.work.row_locks import lock_study
from counterpoise.wire.specification import AUTO


def follow_slots(database: Database) -> int:
    """Update the slots of all active studies; returns in how many they have changed.

    A constant number of queries while nothing changes.
    """
    with database.read() as connection:
        studies = [study for study in active_studies(connection) if study.follows_slots]
        if not studies:
            return 0
        objectives = objectives_of_all(connection, [study.id for study in studies])
        workers = live_workers(connection, list(held_leases(connection)))
    changed = {}
    for study in studies:
        slots = slow_slots(study, objectives[study.id], workers)
        if slots != study.slow_slots:
            changed[study.id] = slots
    write_each(database, _change_slots, changed)
    return len(changed)


def slow_slots(
    study: Study, objectives: Sequence[Objective], workers: Sequence[Worker]
) -> int:
    """The slots of workers that take one of the study's slow runs."""
    names = [run.name for run in slow_runs(study, objectives)]
    count = 0
    for worker in workers:
        takes_one = any(worker.takes(study.name, name) for name in names)
        if takes_one and not worker.drained:
            count += worker.slots
    return count


def _change_slots(connection: Connection, study_id: int, slots: int) -> None:
    study = lock_study(connection, study_id)
    if study is not None and not study.is_finished:
        change_study(connection, study_id, slow_slots=slots)
        schedule_due_steps(connection, find_study_by_id(connection, study_id))


def lookahead_of(
    connection: Connection, study: Study, objectives: Sequence[Objective], step: Step
) -> int:
    """Full samples to plan ahead of the slots, from how long this step took and how
    long the slowest runs take.
    """
    if study.spec.overlap != AUTO:
        return 0
    runs = [run.id for run in slow_runs(study, objectives)]
    durations = last_durations(connection, runs, LAST_DURATIONS)
    medians = [statistics.median(latest) for latest in durations.values() if latest]
    if not medians:
        return 0
    planning_s = max(database_time(connection) - step.due_at, 0.0)
    return planned_ahead(study.slow_slots, planning_s, max(medians))
