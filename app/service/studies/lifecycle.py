"""Studies: create, pause, resume, stop, extend, retry, delete."""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace

from app.domain.jobs import Job
from app.domain.planning.ratios import declared_ratios
from app.domain.studies import (
    ENDING_DETAILS,
    NewObjective,
    Objective,
    Study,
    co_objectives_of,
)
from app.domain.work import job_rules
from app.domain.work.changes import ChangeSet, Event, supersede
from app.domain.work.sample_rules import limits_of_cheap_runs
from app.errors import (
    ObjectiveUnknown,
    RequestRefused,
    StudyBusy,
    StudyExists,
)
from app.service.planning.schedule import schedule_due_steps, schedule_initial
from app.service.require_study import require_study
from app.service.work.other_jobs import keep_ruled_out
from app.store.database import Connection, Database
from app.store.events import feed_deletion
from app.store.studies.steps import drop_due
from app.store.studies.studies import (
    change_study,
    create_study,
    delete_study,
    find_study,
    find_study_by_id,
    finish_study,
    leased_counts,
    objectives_of,
)
from app.store.wakeups import notify
from app.store.work.apply_changes import apply
from app.store.work.row_locks import (
    lock_free_jobs,
    lock_jobs_of_samples,
    lock_settled_jobs,
    lock_unsettled_jobs,
)
from counterpoise.wire.codes import (
    Ending,
    EventKind,
    JobState,
    Phase,
    StepKind,
    StudyState,
)
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.specification import (
    AUTO,
    CONDITIONAL_STRATEGIES,
    Specification,
)

SEED_BITS = 53  # JavaScript represents integers of this size exactly


def create(
    database: Database, spec: Specification, lease_s: float, *, paused: bool = False
) -> bool:
    """Store a new study; False if the same one exists already, which goes on as it is.

    Raises SpecificationInvalid if its requirements leave nothing to search, or if its
    strategy does not apply.
    """
    # Imported here: a server starts faster without numerical libraries, and mostly
    # needs none.
    if spec.requirements:
        from app.service.planning.specification_checks import check_space

        check_space(spec)
    if spec.strategy in CONDITIONAL_STRATEGIES:
        from app.service.planning.specification_checks import check_strategy

        check_strategy(spec)
    return database.write(_create, spec, lease_s, paused)


def _create(
    connection: Connection, spec: Specification, lease_s: float, paused: bool
) -> bool:
    seed = spec.seed if spec.seed is not None else secrets.randbits(SEED_BITS)
    state = StudyState.PAUSED if paused else StudyState.ACTIVE
    study = create_study(connection, spec, seed, _new_objectives(spec, lease_s), state)
    if study is None:
        existing = find_study(connection, spec.name)
        if existing is None:  # deleted in this moment
            return _create(connection, spec, lease_s, paused)
        _require_same(existing, spec)
        return False
    apply(
        connection,
        study,
        ChangeSet(events=[Event(EventKind.CREATED, {"budget": spec.budget})]),
    )
    schedule_initial(connection, replace(study, sequence=study.sequence + 1))
    return True


def _new_objectives(spec: Specification, default_lease_s: float) -> list[NewObjective]:
    ratios = declared_ratios(spec) or [1.0] * len(spec.outputs)
    leases = {
        output.name: output.lease_s or spec.lease_s or default_lease_s
        for output in spec.outputs
    }
    found = []
    for output, ratio in zip(spec.outputs, ratios, strict=True):
        lease_s = leases[output.same_run_as or output.name]
        found.append(
            NewObjective(
                output.name,
                lease_s,
                None if output.timeout_s == AUTO else output.timeout_s,
                output.same_run_as,
                ratio,
            )
        )
    return found


def _require_same(study: Study, given: Specification) -> None:
    """The specification may also contain the seed that the server drew."""
    existing = study.spec
    if given.seed == study.seed:
        existing = existing.model_copy(update={"seed": study.seed})
    fields = sorted(Specification.model_fields)
    differing = [
        name for name in fields if getattr(existing, name) != getattr(given, name)
    ]
    if differing:
        raise StudyExists(
            f"study {given.name!r} exists with another specification (it differs in {', '.join(differing)});"
            " choose another name, or delete it first"
        )


def pause(database: Database, name: str) -> None:
    """No new leases and no new steps; running jobs go on."""
    database.write(_switch, name, StudyState.PAUSED)


def resume(database: Database, name: str) -> None:
    database.write(_switch, name, StudyState.ACTIVE)


def _switch(connection: Connection, name: str, state: StudyState) -> None:
    study = require_study(connection, name, lock=True)
    if study.state is state:
        return
    change_study(connection, study.id, state=state)
    kind = EventKind.PAUSED if state is StudyState.PAUSED else EventKind.RESUMED
    apply(connection, study, ChangeSet(events=[Event(kind)]))
    notify(connection)


def stop(database: Database, name: str, *, cancel_running: bool) -> None:
    """Finish now: ready jobs are superseded, running ones may finish or, on request,
    are advised to cancel.

    The same for a finished study whose failed jobs were retried: its running jobs do
    not return to ready.
    """
    database.write(_stop, name, cancel_running)


def _stop(connection: Connection, name: str, cancel_running: bool) -> None:
    study = require_study(connection, name, lock=True)
    drop_due(connection, study.id, list(StepKind))
    ready = lock_free_jobs(connection, study.id, only_cheap=False)
    changes = ChangeSet(jobs=supersede(ready))
    if not study.is_finished:
        body = {"reason": Ending.STOPPED, "detail": ENDING_DETAILS[Ending.STOPPED]}
        changes.events = [Event(EventKind.STOPPED), Event(EventKind.FINISHED, body)]
    apply(
        connection,
        study,
        changes,
        co_objectives_of(objectives_of(connection, study.id)),
    )
    if not study.is_finished:
        finish_study(connection, study.id, Ending.STOPPED)
    elif ready or any(leased_counts(connection, study.id).values()):
        change_study(connection, study.id, ending=Ending.STOPPED)
    change_study(connection, study.id, cancel_running=cancel_running)


def extend(database: Database, name: str, budget: int) -> None:
    """A larger budget; reopens a finished study."""
    database.write(_extend, name, budget)


def _extend(connection: Connection, name: str, budget: int) -> None:
    study = require_study(connection, name, lock=True)
    if budget <= study.budget:
        raise RequestRefused(
            f"study {name!r} has a budget of {study.budget} already; extend it to more than that, not to {budget}"
        )
    phase = study.phase
    if study.is_finished:
        phase = Phase.SEARCH if study.step else Phase.INITIAL
    reopened = {
        "phase": phase,
        "finished_at": None,
        "ending": None,
        "cancel_running": False,
    }
    change_study(connection, study.id, budget=budget, **reopened)
    extended = Event(EventKind.EXTENDED, {"budget": budget, "phase": phase})
    apply(connection, study, ChangeSet(events=[extended]))
    drop_due(connection, study.id, [StepKind.CLOSING])
    study = find_study_by_id(connection, study.id)
    if study.phase is Phase.INITIAL and study.planned_full == 0:
        schedule_initial(connection, study)
    else:
        schedule_due_steps(connection, study)


def retry(
    database: Database,
    name: str,
    objectives: Sequence[str] | None,
    *,
    infeasible: bool = False,
) -> int:
    """Make failed jobs ready, as if never tried; returns how many.

    `infeasible`: instead those of samples that were reported as infeasible, with the
    jobs that were withdrawn for it.
    """
    return database.write(_retry, name, objectives, infeasible)


def _retry(
    connection: Connection,
    name: str,
    names: Sequence[str] | None,
    infeasible: bool,
) -> int:
    study = require_study(connection, name, lock=True)
    objectives = objectives_of(connection, study.id)
    state = JobState.INFEASIBLE if infeasible else JobState.FAILED
    runs = _runs(study, objectives, names)
    jobs = lock_settled_jobs(connection, study.id, runs, state)
    if not jobs:
        return 0
    co_objectives = co_objectives_of(objectives)
    changes = ChangeSet(limited=limits_of_cheap_runs(study, objectives))
    for job in jobs:
        job_rules.retry(changes, job)
    keep_ruled_out(connection, changes, co_objectives)
    if infeasible:
        withdrawn = _withdrawn_with(connection, jobs, changes.still_ruled_out)
        for job in withdrawn:
            job_rules.retry(changes, job)
        jobs += withdrawn
    changes.events.append(Event(EventKind.RETRIED, {"jobs": len(jobs)}))
    apply(connection, study, changes, co_objectives)
    # Their values are wanted, although it was stopped
    change_study(connection, study.id, cancel_running=False)
    notify(connection)
    return len(jobs)


def _withdrawn_with(
    connection: Connection, infeasible: Sequence[Job], ruled_out: Collection[int]
) -> list[Job]:
    """The superseded jobs of full samples with these jobs, without samples that are
    still ruled out.
    """
    samples = {job.sample for job in infeasible if not job.cheap_only}
    return [
        job
        for job in lock_jobs_of_samples(connection, sorted(samples - set(ruled_out)))
        if job.state is JobState.SUPERSEDED
    ]


def _runs(
    study: Study, objectives: Sequence[Objective], names: Sequence[str] | None
) -> list[int]:
    """Objectives with jobs of their own: those of these names, or all."""
    runs = {
        objective.name: objective.id for objective in objectives if objective.has_jobs
    }
    if names is None:
        return list(runs.values())
    for name in names:
        if name not in runs:
            hint = did_you_mean(name, runs)
            raise ObjectiveUnknown(
                f"objective {name!r} has no jobs of its own in study {study.name!r}{hint}"
            )
    return [runs[name] for name in names]


def delete(database: Database, name: str, *, force: bool) -> None:
    """Remove a study and all that belongs to it."""
    database.write(_delete, name, force)


def _delete(connection: Connection, name: str, force: bool) -> None:
    study = require_study(connection, name, lock=True)
    # An ask locks no study, and could lease one meanwhile
    lock_unsettled_jobs(connection, study.id)
    leased = sum(leased_counts(connection, study.id).values())
    if leased and not force:
        jobs = "1 job is" if leased == 1 else f"{leased} jobs are"
        raise StudyBusy(
            f"{jobs} with workers and the values would be lost; stop study {name!r} and wait, or delete it with force"
        )
    delete_study(connection, study.id)
    feed_deletion(connection, study.id, name)
