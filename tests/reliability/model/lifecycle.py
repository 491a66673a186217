"""Requests of engineers: create, pause, resume, stop, extend, retry."""

from collections.abc import Sequence

from tests.reliability.model.records import Job, StudyRules
from tests.reliability.model.steps import drop_due, schedule_due_steps, schedule_initial
from tests.reliability.model.study import StudyModel
from tests.reliability.model.transitions import leave_infeasible, supersede_ready


def create(rules: StudyRules, budget: int) -> StudyModel:
    model = StudyModel(rules, budget)
    model.log_events("created")
    schedule_initial(model)
    return model


def set_active(model: StudyModel, active: bool) -> None:
    if active != model.active:
        model.active = active
        model.log_events("resumed" if active else "paused")


def stop(model: StudyModel, cancel_running: bool) -> None:
    """A finished study can be stopped, too, if it has open jobs."""
    was_finished = model.phase == "finished"
    has_open_jobs = any(job.is_open for job in model.jobs.values())
    model.cancel_running = cancel_running
    if not was_finished or has_open_jobs:
        model.stopped = True
    supersede_ready(model, only_cheap=False)
    if not was_finished:
        model.phase = "finished"
        model.due_steps.clear()
        model.log_events("stopped", "finished")


def extend(model: StudyModel, budget: int) -> bool:
    """Return False if the budget is not larger, which is refused."""
    if budget <= model.budget:
        return False
    if model.phase == "finished":
        model.phase = "search" if model.step else "initial"
    model.budget = budget
    model.stopped = False
    model.cancel_running = False
    model.log_events("extended")
    drop_due(model, "closing")
    if model.phase == "initial" and not model.planned_full:
        schedule_initial(model)
    else:
        schedule_due_steps(model)
    return True


def retry(model: StudyModel, runs: Sequence[str], *, infeasible: bool = False) -> int:
    """Return the number of jobs that are ready again."""
    state = "infeasible" if infeasible else "failed"
    jobs = [job for job in model.jobs_in(state) if job.objective in runs]
    for job in jobs:
        _try_again(model, job)
    if infeasible:
        full = {job.sample for job in jobs if not job.cheap_only}
        withdrawn = [
            job
            for job in model.jobs_in("superseded")
            if job.sample in full and not model.samples[job.sample].infeasible
        ]
        for job in withdrawn:
            _try_again(model, job)
        jobs += withdrawn
    if jobs:
        model.cancel_running = False
        model.log_events("retried")
    return len(jobs)


def _try_again(model: StudyModel, job: Job) -> None:
    leave_infeasible(model, job)
    job.move_to("ready")
    job.errors = 0
    job.losses = 0
