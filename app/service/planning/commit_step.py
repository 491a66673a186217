"""Commit a step: its samples and jobs appear in one transaction, once, or not at all."""

from collections.abc import Collection, Sequence

from app.domain.jobs import Job
from app.domain.planning.joining import Join
from app.domain.planning.stepping import (
    Decision,
    Finish,
    Nothing,
    SearchStep,
    supersedes,
)
from app.domain.steps import Step
from app.domain.studies import ENDING_DETAILS, Objective, Study, co_objectives_of
from app.domain.work.changes import ChangeSet, Event, supersede
from app.domain.work.sample_rules import runs_that_wait
from app.fault_points import point
from app.service.planning.plan import Plan
from app.service.planning.schedule import schedule_due_steps
from app.service.planning.slots import lookahead_of
from app.store.database import Connection, Database
from app.store.monitoring.step_models import replace_step_models
from app.store.studies.joins import find_joins, join_samples, recorded
from app.store.studies.new_samples import add_samples
from app.store.studies.promotion import promote_samples
from app.store.studies.steps import fail_step, finish_step, give_back_claim
from app.store.studies.studies import (
    change_objective,
    change_study,
    find_study_by_id,
    finish_study,
    objectives_of,
)
from app.store.wakeups import notify
from app.store.work.apply_changes import apply
from app.store.work.row_locks import lock_free_jobs, lock_study
from counterpoise.wire.codes import Ending, EventKind, StepKind, StudyState

STREAM_ENDED = -1  # an objective's generation when its stream finds no new point


def commit_step(database: Database, step: Step, plan: Plan) -> bool:
    """False if the claim was lost or the study is no longer active."""
    point("step.computed")
    is_committed = database.write(_commit, step, plan)
    point("step.committed")
    return is_committed


def _commit(connection: Connection, step: Step, plan: Plan) -> bool:
    study = lock_study(connection, step.study)
    if study is None:
        return False
    if study.state is not StudyState.ACTIVE:
        give_back_claim(connection, step)
        return False
    joins = find_joins(connection, study.id, plan.samples, plan.promoted)
    if not finish_step(connection, step, plan.record | recorded(joins)):
        return False
    ending = _ending(study, step, plan)
    objectives = objectives_of(connection, study.id)
    _supersede_and_announce(connection, study, objectives, step, plan, joins, ending)
    _advance(connection, study, objectives, step, plan)
    if plan.models is not None:
        replace_step_models(connection, study.id, step.id, plan.models)
    _add_proposals(connection, study, objectives, step, plan, joins)
    if ending is not None:
        finish_study(connection, study.id, ending)
    elif step.kind is not StepKind.STREAM:
        # A generation becomes due by a tell, never by when a planner happens to commit.
        schedule_due_steps(connection, find_study_by_id(connection, study.id))
    notify(connection)
    point("step.written")
    return True


def _supersede_and_announce(
    connection: Connection,
    study: Study,
    objectives: Sequence[Objective],
    step: Step,
    plan: Plan,
    joins: Sequence[Join],
    ending: Ending | None,
) -> None:
    superseded = _superseded_jobs(connection, study, step, ending, plan.promoted)
    events = [Event(EventKind.STEP, _summary(study, step, plan, joins))]
    if ending is not None:
        detail = plan.shortfall or ENDING_DETAILS[ending]
        events.append(Event(EventKind.FINISHED, {"reason": ending, "detail": detail}))
    changes = ChangeSet(jobs=supersede(superseded), events=events)
    apply(connection, study, changes, co_objectives_of(objectives))


def _add_proposals(
    connection: Connection,
    study: Study,
    objectives: Sequence[Objective],
    step: Step,
    plan: Plan,
    joins: Sequence[Join],
) -> None:
    """Promote, join and add the samples that the step proposes."""
    co_objectives = co_objectives_of(objectives)
    number = step.number if step.kind is StepKind.SEARCH else 0
    waiting = runs_that_wait(study, objectives)
    promote_samples(connection, study.id, plan.promoted, co_objectives, step, waiting)
    join_samples(connection, study.id, joins, co_objectives, number=number)
    joined = {join.position for join in joins}
    new = [sample for place, sample in enumerate(plan.samples) if place not in joined]
    add_samples(
        connection,
        study.id,
        new,
        co_objectives,
        step=step.id,
        number=number,
        waiting=waiting,
    )


def _ending(study: Study, step: Step, plan: Plan) -> Ending | None:
    """Whether the study is finished with this step, and why."""
    if step.kind is StepKind.CLOSING:
        return Ending.BUDGET_USED if study.planned_full >= study.budget else None
    # A design of size 0 is wanted where imported samples replace all of it.
    plans_full = step.kind in (StepKind.INITIAL, StepKind.SEARCH)
    wants_full = plans_full and bool(step.inputs.size)
    is_empty = len(plan.full) == 0 and not plan.promoted
    # The study ends with a step that has read the values of all planned samples. Others,
    # such as imported ones, may run on: no step waits for them.
    is_exhausted = wants_full and is_empty and step.inputs.running == 0
    return Ending.SPACE_EXHAUSTED if is_exhausted else None


def _superseded_jobs(
    connection: Connection,
    study: Study,
    step: Step,
    ending: Ending | None,
    promoted: Collection[int],
) -> Sequence[Job]:
    """The ready jobs that are no longer needed."""
    decision: Decision = Nothing()
    if ending is not None:
        decision = Finish()
    elif step.kind is StepKind.SEARCH:
        decision = SearchStep(step.number, step.inputs.size or 0)
    if not supersedes(decision):
        return []
    jobs = lock_free_jobs(connection, study.id, only_cheap=True)
    return [job for job in jobs if job.sample not in promoted]


def _advance(
    connection: Connection,
    study: Study,
    objectives: Sequence[Objective],
    step: Step,
    plan: Plan,
) -> None:
    if step.kind is StepKind.SEARCH:
        change_study(
            connection,
            study.id,
            step=step.number,
            lookahead=lookahead_of(connection, study, objectives, step),
        )
    if step.kind is StepKind.STREAM:
        found_points = len(plan.cheap.get(step.objective, ())) > 0
        generation = step.number if found_points else STREAM_ENDED
        change_objective(
            connection, objectives[step.objective].id, generation=generation
        )


def _summary(
    study: Study, step: Step, plan: Plan, joins: Sequence[Join]
) -> dict[str, object]:
    full = sum(sample.full for sample in plan.samples)
    joined_full = sum(join.full for join in joins)
    summary: dict[str, object] = {
        "step": step.name(study.spec.output_names),
        "full": full - joined_full + len(plan.promoted),
        "cheap_only": len(plan.samples) - full,
    }
    return summary | ({"promoted": plan.promoted} if plan.promoted else {})


def record_fault(database: Database, step: Step, fault: str, backoff_s: float) -> None:
    """The step is tried again after a while."""
    database.write(_record_fault, step, fault, backoff_s)


def _record_fault(
    connection: Connection, step: Step, fault: str, backoff_s: float
) -> None:
    study = lock_study(connection, step.study)
    if study is not None and fail_step(connection, step, fault, backoff_s):
        name = step.name(study.spec.output_names)
        body = {"step": name, "faults": step.faults + 1, "fault": fault}
        apply(connection, study, ChangeSet(events=[Event(EventKind.STEP_FAILED, body)]))
