"""What needs an engineer's attention in a study: a code for programs, a sentence for
people.
"""

from collections.abc import Mapping, Sequence

from app.domain.steps import Step
from app.domain.studies import ENDING_DETAILS, Objective, Study
from app.domain.work.sample_rules import runs_that_wait
from app.domain.workers import Worker, pool_of
from app.service.studies.feasibility import feasibility_items
from app.service.studies.health_of_runs import (
    hanging_run_items,
    idle_slot_items,
    shared_name_items,
)
from app.store.database import Connection
from app.store.sql.clock import database_time
from app.store.studies.jobs import head_ages
from app.store.studies.steps import LONGEST_CLAIM_AHEAD_S, due_steps
from app.store.work.live_workers import live_workers, running_jobs
from counterpoise.wire.codes import Ending, HealthCode, StudyState
from counterpoise.wire.text import format_span
from counterpoise.wire.views import HealthItem, OutputView
from counterpoise.wire.work import matches

LATE_PLAN_S = 30.0
LONG_WAIT_S = 10.0


def health(
    connection: Connection,
    study: Study,
    objectives: Sequence[Objective],
    views: Sequence[OutputView],
    durations: Mapping[int, Sequence[float]],
    last_steps: Sequence[Step],
) -> list[HealthItem]:
    """`durations`: of the last runs of each objective, by id; `last_steps`: the newest
    first.
    """
    running = running_jobs(connection, study.id)
    holders = {run.worker_id for run in running}
    alive = [
        worker
        for worker in live_workers(connection, holders)
        if matches(worker.studies, study.name)
    ]
    not_running = _ready_but_not_running(study, objectives, views)
    after_cheap = runs_that_wait(study, objectives)
    ages = head_ages(
        connection, [objective.id for objective in not_running], after_cheap
    )
    steps = due_steps(connection, study.id)
    now = database_time(connection)
    items = _study_items(study, views)
    items += _drained_items(study, alive)
    items += shared_name_items(alive, now)
    for objective in not_running:
        view, age_s = views[objective.position], ages.get(objective.id, 0.0)
        items += _missing_worker_items(study, objective, view, alive, age_s)
    items += hanging_run_items(running, durations, now)
    items += idle_slot_items(study, objectives, views, alive)
    for step in steps:
        items += _step_items(study, step, now)
    for view in views:
        items += _failure_items(study, view)
    return items + feasibility_items(study, last_steps)


def _study_items(study: Study, views: Sequence[OutputView]) -> list[HealthItem]:
    items = []
    if study.is_paused and not study.is_finished:
        detail = (
            "the study is paused: no new leases and no new steps until it is resumed"
        )
        items.append(HealthItem(code=HealthCode.PAUSED, detail=detail))
    elif study.is_paused and any(view.ready for view in views):
        # Jobs of a finished study: retried, or imported to be evaluated.
        detail = "the study is paused: no new leases until it is resumed"
        items.append(HealthItem(code=HealthCode.PAUSED, detail=detail))
    if study.is_finished and study.ending not in (None, Ending.BUDGET_USED):
        detail = f"the study is finished: {ENDING_DETAILS[study.ending]}"
        items.append(HealthItem(code=HealthCode.FINISHED_EARLY, detail=detail))
    return items


def _drained_items(study: Study, alive: Sequence[Worker]) -> list[HealthItem]:
    drained = [worker.name for worker in alive if worker.drained]
    if not drained or study.is_finished:
        return []
    names = ", ".join(drained[:3]) + (
        f" and {len(drained) - 3} more" if len(drained) > 3 else ""
    )
    detail = f"drained, so that they get no more jobs: {names}; `workers undrain` lets a worker go on"
    return [HealthItem(code=HealthCode.WORKERS_DRAINED, detail=detail)]


def _ready_but_not_running(
    study: Study, objectives: Sequence[Objective], views: Sequence[OutputView]
) -> list[Objective]:
    """Objectives with ready jobs and no leased one: a worker that holds a job of it can
    evaluate it.
    """
    if study.is_paused:
        return []
    found = []
    for objective, view in zip(objectives, views, strict=True):
        if objective.has_jobs and view.ready and not view.leased:
            found.append(objective)
    return found


def _missing_worker_items(
    study: Study,
    objective: Objective,
    view: OutputView,
    alive: Sequence[Worker],
    age_s: float,
) -> list[HealthItem]:
    pool = pool_of(alive, {}, study.name, objective.name)
    if pool.able or age_s <= LONG_WAIT_S:
        return []
    jobs = "1 job has" if view.ready == 1 else f"{view.ready} jobs have"
    command = f"counterpoise worker --study {study.name} --objective {objective.name}=MODULE:FUNCTION"
    detail = (
        f"objective {objective.name}: {jobs} waited {format_span(age_s)} and no live worker can evaluate it;"
        f" start one: {command}"
    )
    return [
        HealthItem(code=HealthCode.NO_WORKER, detail=detail, objective=objective.name)
    ]


def _step_items(study: Study, step: Step, now: float) -> list[HealthItem]:
    items = []
    name = step.name(study.spec.output_names)
    if step.fault:
        often = "once" if step.faults == 1 else f"{step.faults} times"
        detail = f"step {name} failed {often} and will be tried again: {step.fault}"
        items.append(HealthItem(code=HealthCode.STEP_FAILED, detail=detail, step=name))
    waiting_since = max(step.due_at, step.retry_at or 0.0)
    is_late = now - waiting_since > LATE_PLAN_S
    if study.state is StudyState.ACTIVE and is_late and not _is_claimed(step, now):
        detail = f"step {name} has been due for {format_span(now - step.due_at)}; is a planner running?"
        items.append(
            HealthItem(code=HealthCode.PLANNER_MISSING, detail=detail, step=name)
        )
    return items


def _is_claimed(step: Step, now: float) -> bool:
    """A planner that died leaves its claim behind; one that expires too late comes from
    a clock that was set back.
    """
    until = step.claim_expires_at
    return until is not None and now <= until <= now + LONGEST_CLAIM_AHEAD_S


def _failure_items(study: Study, view: OutputView) -> list[HealthItem]:
    if not view.failed or view.same_run_as is not None:
        return []
    evaluated = view.done + view.infeasible + view.failed
    detail = (
        f"objective {view.name}: {view.failed} of {evaluated} evaluated jobs failed;"
        f" `counterpoise study retry {study.name}` runs them again"
    )
    return [HealthItem(code=HealthCode.JOBS_FAILED, detail=detail, objective=view.name)]
