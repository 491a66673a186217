"""Transitions of a job, with what the study learns by them."""

from collections.abc import Collection, Iterable, Mapping

from tests.reliability.model.records import Job, Result, Sample
from tests.reliability.model.study import StudyModel

NOT_HELD = ("waiting", "ready")


def set_done(
    model: StudyModel,
    job: Job,
    value: float,
    also: Mapping[str, float],
) -> None:
    """A co-objective without a value has failed."""
    end_other_attempt(model, job)
    leave_infeasible(model, job)
    job.move_to("done")
    model.log_value(job.sample, job.objective, value)
    for name in model.rules.runs[job.objective]:
        model.log_result(job.sample, name, also.get(name), "error")
        job.co_outcomes[name] = "done" if name in also else "failed"


def leave_infeasible(model: StudyModel, job: Job) -> None:
    """A value or another try takes an infeasible result back; that of another run
    stays.
    """
    if job.state == "infeasible":
        others = [other for other in model.jobs_of(job.sample) if other is not job]
        model.samples[job.sample].infeasible = (
            any(_rules_out(other) for other in others)
            or "infeasible" in _known_without_jobs(model, job.sample).values()
        )


def _rules_out(job: Job) -> bool:
    return job.state == "infeasible" or (
        job.state == "done" and "infeasible" in job.co_outcomes.values()
    )


def _known_without_jobs(model: StudyModel, sample: int) -> dict[str, Result]:
    runs = [job.objective for job in model.jobs_of(sample)]
    with_jobs = {name for run in runs for name in model.rules.outputs_of(run)}
    known = model.known(sample)
    return {name: known[name] for name in known if name not in with_jobs}


def set_failed(model: StudyModel, job: Job, kind: str) -> None:
    job.move_to("infeasible" if kind == "infeasible" else "failed")
    for name in model.rules.outputs_of(job.objective):
        model.log_failure(job.sample, name, kind)


def end_other_attempt(model: StudyModel, job: Job) -> None:
    """The attempt that holds the job computes what is known now."""
    holder = model.attempts.get(job.lease or "")
    if holder is not None and holder.outcome is None:
        holder.outcome = "overtaken"


def return_to_queue(model: StudyModel, job: Job, *, back_off: bool = False) -> None:
    """A job whose step was overtaken, whose study was stopped or whose sample was ruled
    out is superseded instead.
    """
    is_overtaken = job.cheap_only and job.step < model.step
    if model.stopped or is_overtaken or model.samples[job.sample].infeasible:
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
        if not job.cheap_only and sample.is_planned:
            _give_up(model, sample)


def _give_up(model: StudyModel, sample: Sample) -> None:
    """As many infeasible samples as the budget has places give their place back."""
    if sample.infeasible:
        if model.withdrawn >= model.budget:
            return
        model.withdrawn += 1
    sample.given_up = True


def supersede_ready(
    model: StudyModel, *, only_cheap: bool, but: Collection[int] = ()
) -> None:
    """`but`: samples whose jobs stay."""
    ready = model.jobs_in("ready") + model.jobs_in("waiting")
    unwanted = [job for job in ready if job.cheap_only or not only_cheap]
    supersede(model, [job for job in unwanted if job.sample not in but])


def change_other_jobs(model: StudyModel) -> None:
    """Jobs of samples that were ruled out are withdrawn; slow jobs are ready when the
    cheap runs of their sample are settled.
    """
    for sample in sorted(set(model.ruled_out)):
        jobs = [job for job in model.jobs_of(sample) if job.state in NOT_HELD]
        supersede(model, jobs)
        if jobs:
            model.log_events("withdrawn")
    model.ruled_out.clear()
    for job in model.jobs_in("waiting"):
        others = [other.state for other in model.jobs_of(job.sample)]
        if not any(state in ("ready", "leased") for state in others):
            job.move_to("ready")
