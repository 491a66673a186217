"""Transitions of a job, with what the study learns by them."""

from collections.abc import Iterable, Mapping

from tests.reliability.model.records import Job
from tests.reliability.model.study import StudyModel


def set_done(
    model: StudyModel,
    job: Job,
    value: float,
    also: Mapping[str, float],
) -> None:
    """A co-objective without a value has failed."""
    end_other_attempt(model, job)
    job.move_to("done")
    model.log_value(job.sample, job.objective, value)
    for name in model.rules.runs[job.objective]:
        model.log_result(job.sample, name, also.get(name), "error")
        job.co_outcomes[name] = "done" if name in also else "failed"


def set_failed(model: StudyModel, job: Job, kind: str) -> None:
    job.move_to("failed")
    for name in model.rules.outputs_of(job.objective):
        model.log_failure(job.sample, name, kind)


def end_other_attempt(model: StudyModel, job: Job) -> None:
    """The attempt that holds the job computes what is known now."""
    holder = model.attempts.get(job.lease or "")
    if holder is not None and holder.outcome is None:
        holder.outcome = "overtaken"


def return_to_queue(model: StudyModel, job: Job, *, back_off: bool = False) -> None:
    """A job whose step was overtaken, or whose study was stopped, is superseded
    instead.
    """
    if model.stopped or (job.cheap_only and job.step < model.step):
        supersede(model, [job])
        return
    job.move_to("ready")
    job.backs_off = back_off


def count_error(model: StudyModel, job: Job) -> None:
    job.errors += 1
    if job.errors >= model.rules.max_attempts:
        set_failed(model, job, "error")
    else:
        return_to_queue(model, job)


def count_loss(model: StudyModel, job: Job, failure: str) -> None:
    job.losses += 1
    if job.losses >= model.rules.max_losses:
        set_failed(model, job, failure)
    else:
        return_to_queue(model, job, back_off=True)


def supersede(model: StudyModel, jobs: Iterable[Job]) -> None:
    """A full sample of the plan that loses a job is given up."""
    for job in jobs:
        job.move_to("superseded")
        sample = model.samples[job.sample]
        if not job.cheap_only and not sample.imported:
            sample.given_up = True


def supersede_ready(model: StudyModel, *, only_cheap: bool) -> None:
    ready = model.jobs_in("ready")
    supersede(model, [job for job in ready if job.cheap_only or not only_cheap])
