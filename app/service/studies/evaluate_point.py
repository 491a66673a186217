"""Evaluate a point of the engineer's own."""

from collections.abc import Sequence

from app.domain.samples import NewSample
from app.domain.studies import Objective, Study, co_objectives_of
from app.domain.work.changes import ChangeSet, Event
from app.domain.work.sample_rules import runs_that_wait
from app.errors import PointInvalid, RequestRefused
from app.service.planning.schedule import is_step_waiting
from app.service.require_study import require_study
from app.service.studies.points import parse_point
from app.store.database import Connection, Database
from app.store.studies.new_samples import add_samples
from app.store.studies.points import jobs_of_samples, samples_at_points
from app.store.studies.studies import change_study, objectives_of
from app.store.wakeups import notify
from app.store.work.apply_changes import apply
from counterpoise.wire.codes import EventKind
from counterpoise.wire.points import EvaluatedPoint, EvaluatePoint
from counterpoise.wire.problems import Fault, did_you_mean


def evaluate_point(
    database: Database, name: str, request: EvaluatePoint
) -> EvaluatedPoint:
    return database.write(_evaluate, name, request)


def _evaluate(
    connection: Connection, name: str, request: EvaluatePoint
) -> EvaluatedPoint:
    study = require_study(connection, name, lock=True)
    objectives = objectives_of(connection, study.id)
    x, runs = _parse(study, objectives, request)
    if not study.spec.is_noisy:
        _require_new(connection, study, x)
    is_partial = len(runs) < sum(objective.has_jobs for objective in objectives)
    outside_budget = request.outside_budget or is_partial
    if not outside_budget:
        _require_place(connection, study)
    co_objectives = co_objectives_of(objectives)
    (sample,) = add_samples(
        connection,
        study.id,
        [NewSample(x, runs, full=True)],
        co_objectives,
        imported_seq=study.sequence + 1,
        in_budget=not outside_budget,
        waiting=() if is_partial else runs_that_wait(study, objectives),
    )
    body = {"sample": sample, "outside_budget": outside_budget}
    changes = ChangeSet(events=[Event(EventKind.REQUESTED, body)])
    apply(connection, study, changes, co_objectives)
    # Its values are wanted, although the study was stopped
    change_study(connection, study.id, cancel_running=False)
    notify(connection)
    jobs = jobs_of_samples(connection, [sample], lock=False)[sample]
    return EvaluatedPoint(
        sample=sample, jobs=[job.id for job in jobs], outside_budget=outside_budget
    )


def _parse(
    study: Study, objectives: Sequence[Objective], request: EvaluatePoint
) -> tuple[list[float], tuple[int, ...]]:
    """The point, and the objectives (ids) whose runs evaluate it."""
    x, faults = parse_point(study.spec, request.x, "/x")
    by_name = {objective.name: objective for objective in objectives}
    wanted = set(by_name) if request.objectives is None else set(request.objectives)
    for name in sorted(wanted - by_name.keys()):
        detail = (
            f"there is no objective or constraint {name!r}{did_you_mean(name, by_name)}"
        )
        faults.append(Fault(pointer="/objectives", detail=detail))
    if faults:
        raise PointInvalid(faults)
    runs = {by_name[name].run for name in wanted}
    return x, tuple(sorted(runs))


def _require_new(connection: Connection, study: Study, x: Sequence[float]) -> None:
    samples = samples_at_points(connection, study.id, [tuple(x)])
    for existing in samples.values():
        raise RequestRefused(
            f"sample {existing[0].id} has this point already; `study retry` runs failed jobs again,"
            " and an import with `evaluate` makes jobs for values that it lacks"
        )


def _require_place(connection: Connection, study: Study) -> None:
    """Whether the budget has a place that no step has been promised."""
    if study.is_finished:
        raise RequestRefused(
            f"study {study.name} is finished; extend it, or evaluate the point outside the budget"
        )
    if study.planned_full >= study.budget:
        raise RequestRefused(
            f"the budget of {study.budget} full samples is planned; extend it, or evaluate the point outside the budget"
        )
    if is_step_waiting(connection, study):
        raise RequestRefused(
            "a step is being planned and may use the rest of the budget; try again when it is done,"
            " or evaluate the point outside the budget"
        )
