"""Imports: known evaluations become data of a study, all of a request or none."""

from collections.abc import Callable
from itertools import chain

from app.domain.studies import Study, co_objectives_of
from app.domain.work.changes import Event, Result
from app.domain.work.sample_rules import limits_of_cheap_runs
from app.errors import ImportInvalid, StateChanged
from app.service.files.evaluation_reader import Reading
from app.service.files.import_rules import INFEASIBLE, Existing, ImportChanges
from app.service.planning.schedule import schedule_due_steps, schedule_initial
from app.service.require_study import require_study
from app.service.work.other_jobs import add_changes_of_other_jobs
from app.store.database import Connection, Database
from app.store.studies.new_jobs import add_jobs
from app.store.studies.new_samples import add_samples
from app.store.studies.points import jobs_of_samples, known_outcomes, samples_at_points
from app.store.studies.steps import due_steps
from app.store.studies.studies import change_study, find_study_by_id, objectives_of
from app.store.wakeups import notify
from app.store.work.apply_changes import apply
from app.store.work.attempt_counts import count_attempts
from counterpoise.wire.codes import EventKind, StepKind
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import Imported


def import_evaluations(
    database: Database,
    name: str,
    read: Callable[[Specification], Reading],
    *,
    evaluate: bool,
    dry_run: bool,
) -> Imported:
    """`evaluate`: make jobs for missing values.

    Importing the same rows again changes nothing.
    """
    with database.read() as connection:
        study = require_study(connection, name)
    reading = read(study.spec)
    if reading.faults.is_full:  # its other rows need not be compared with the study
        raise ImportInvalid(reading.faults.listed, reading.faults.count)
    if not dry_run:
        return database.write(_import, study, reading, evaluate)
    with database.read() as connection:
        changes = _changes(connection, study, reading, evaluate, lock=False)
    return changes.report(len(reading.evaluations), dry_run=True)


def _import(
    connection: Connection, study: Study, reading: Reading, evaluate: bool
) -> Imported:
    locked = require_study(connection, study.name, lock=True)
    if locked.id != study.id:
        raise StateChanged(
            f"study {study.name!r} was deleted and created again meanwhile; nothing was imported"
        )
    changes = _changes(connection, locked, reading, evaluate, lock=True)
    if not changes.is_empty:
        _write(connection, locked, changes)
    return changes.report(len(reading.evaluations), dry_run=False)


def _changes(
    connection: Connection,
    study: Study,
    reading: Reading,
    evaluate: bool,
    *,
    lock: bool,
) -> ImportChanges:
    """What these rows would change; ImportInvalid, with every fault, if there is one."""
    objectives = objectives_of(connection, study.id)
    names = {objective.id: objective.name for objective in objectives}
    ids = {objective.name: objective.id for objective in objectives}
    changes = ImportChanges(
        co_objectives_of(objectives),
        study.limits,
        evaluate,
        names,
        noisy=study.spec.is_noisy,
    )
    changes.changes.limited = limits_of_cheap_runs(study, objectives)
    points = changes.merge(reading.evaluations)
    samples = samples_at_points(connection, study.id, list(points))
    sample_ids = sorted(sample.id for sample in chain.from_iterable(samples.values()))
    outcomes = known_outcomes(connection, sample_ids)
    jobs = jobs_of_samples(connection, sample_ids, lock=lock)
    for point, rows in points.items():
        existing = [
            Existing(sample, outcomes.get(sample.id, {}), jobs.get(sample.id, ()))
            for sample in samples.get(point, ())
        ]
        given = [
            {ids[name]: value for name, value in row.known.items()} for row in rows
        ]
        own = changes.own_samples(given, existing)
        for row, known, here in zip(rows, given, own, strict=True):
            changes.take(row, known, here)
    faults = reading.faults + changes.faults
    if faults.count:
        raise ImportInvalid(faults.listed, faults.count)
    return changes


def _write(connection: Connection, study: Study, imported: ImportChanges) -> None:
    changes = imported.changes
    wanted = [sample for sample, _ in imported.new]
    sequence = study.sequence + 1
    ids = add_samples(
        connection, study.id, wanted, imported.co_objectives, imported_seq=sequence
    )
    add_jobs(connection, study.id, imported.new_jobs, imported.co_objectives)
    for sample, (_, known) in zip(ids, imported.new, strict=True):
        for objective, value in known.items():
            failure = INFEASIBLE if value is None else None
            changes.results.append(
                Result(sample, objective, value, failure, of_job=False)
            )
    body = {"samples": len(wanted), "values": len(changes.results)}
    changes.events.append(Event(EventKind.IMPORTED, body))
    add_changes_of_other_jobs(connection, changes, imported.co_objectives)
    apply(connection, study, changes, imported.co_objectives)
    report = imported.report(0, dry_run=False)
    complete = study.imported_complete + imported.completed + report.complete
    change_study(connection, study.id, imported_complete=complete)
    _schedule(connection, find_study_by_id(connection, study.id))
    if report.jobs:
        # Their values are wanted, although it was stopped
        change_study(connection, study.id, cancel_running=False)
        notify(connection)
    count_attempts(connection, dict.fromkeys(changes.ended_leases))


def _schedule(connection: Connection, study: Study) -> None:
    if any(step.kind is StepKind.INITIAL for step in due_steps(connection, study.id)):
        schedule_initial(connection, study)
    else:
        schedule_due_steps(connection, study)
