"""Imports: evaluations of a file become values of jobs, of full samples, or imported
samples.
"""

from tests.reliability.model.records import Evaluation, Job, Point, Result, Sample
from tests.reliability.model.steps import schedule_due_steps, schedule_initial
from tests.reliability.model.study import StudyModel
from tests.reliability.model.transitions import (
    change_other_jobs,
    end_other_attempt,
    leave_infeasible,
    set_failed,
)


def samples_at(model: StudyModel, x: Point) -> list[int]:
    return [number for number, sample in model.samples.items() if sample.x == x]


def known_at(model: StudyModel, x: Point) -> dict[str, Result]:
    """What any sample at this point knows; a value takes precedence over a failure."""
    results: dict[str, Result] = {}
    for sample in samples_at(model, x):
        for name, result in model.known(sample).items():
            if not isinstance(results.get(name), float):
                results[name] = result
    return results


def refuses(model: StudyModel, x: Point, evaluation: Evaluation) -> bool:
    """A value never changes; an awaited run is imported as a whole, with values or as
    infeasible.
    """
    known = known_at(model, x)
    for name, value in evaluation.items():
        result = known.get(name)
        if isinstance(result, float) and result != value:
            return True
    for sample in samples_at(model, x):
        unsettled = [job for job in model.jobs_of(sample) if job.state != "done"]
        if any(_contradicts(model, job, evaluation) for job in unsettled):
            return True
    return False


def _contradicts(model: StudyModel, job: Job, evaluation: Evaluation) -> bool:
    co_objectives = model.rules.runs[job.objective]
    co_values = [evaluation[name] for name in co_objectives if name in evaluation]
    if job.objective not in evaluation:
        return bool(co_values) and model.samples[job.sample].full
    is_infeasible = evaluation[job.objective] is None
    return is_infeasible and any(value is not None for value in co_values)


def import_at(
    model: StudyModel,
    x: Point,
    evaluation: Evaluation,
    *,
    evaluate: bool,
) -> dict[str, float | None] | None:
    """Import a row that is not refused; return what a new sample at the point knows, or
    None if none is made.
    """
    samples = samples_at(model, x)
    known = known_at(model, x)
    was_complete = {sample: is_complete(model, sample) for sample in samples}
    for sample in samples:
        _settle_jobs(model, sample, evaluation)
    for sample in samples:
        if model.samples[sample].full:
            _add_values(model, sample, evaluation)
            if model.samples[sample].imported:
                model.imported_complete += (
                    is_complete(model, sample) - was_complete[sample]
                )
            return None
    wants_jobs = evaluate and len(evaluation) < len(model.rules.objectives)
    results = {name: _as_result(value) for name, value in evaluation.items()}
    if samples and not wants_jobs and results.items() <= known.items():
        return None
    values = {
        name: result for name, result in known.items() if isinstance(result, float)
    }
    return {**values, **evaluation}


def _settle_jobs(model: StudyModel, sample: int, evaluation: Evaluation) -> None:
    for job in model.jobs_of(sample):
        if job.state != "done" and job.objective in evaluation:
            _settle_job(model, job, evaluation)


def _settle_job(model: StudyModel, job: Job, evaluation: Evaluation) -> None:
    value = evaluation[job.objective]
    if value is not None:
        _set_done(model, job, value, evaluation)
    elif job.state == "infeasible":
        pass
    elif job.state != "failed":
        end_other_attempt(model, job)
        set_failed(model, job, "infeasible")
    else:
        _correct_failure(model, job)


def _set_done(
    model: StudyModel,
    job: Job,
    value: float,
    evaluation: Evaluation,
) -> None:
    end_other_attempt(model, job)
    leave_infeasible(model, job)
    job.move_to("done")
    model.log_value(job.sample, job.objective, value)
    for name in model.rules.runs[job.objective]:
        co_value = evaluation.get(name)
        model.log_result(
            job.sample, name, co_value, "infeasible" if name in evaluation else "error"
        )
        lacks = "infeasible" if name in evaluation else "failed"
        job.co_outcomes[name] = "done" if co_value is not None else lacks


def _correct_failure(model: StudyModel, job: Job) -> None:
    """A job that failed for another reason is now known to be infeasible."""
    known = model.known(job.sample)
    for name in model.rules.outputs_of(job.objective):
        result = known.get(name)
        if not isinstance(result, float) and result != "infeasible":
            model.log_failure(job.sample, name, "infeasible")


def _add_values(model: StudyModel, sample: int, evaluation: Evaluation) -> None:
    """Values of outputs for which no job is awaited."""
    awaited: set[str] = set()
    for job in model.jobs_of(sample):
        if job.state != "done":
            awaited.update(model.rules.outputs_of(job.objective))
    known = model.known(sample)
    for name, value in evaluation.items():
        result = known.get(name)
        is_news = not isinstance(result, float) and result != _as_result(value)
        if name not in awaited and is_news:
            model.log_result(sample, name, value, "infeasible")


def runs_to_make(model: StudyModel, sample: int) -> list[str]:
    """Runs of an imported sample without a job and without any known output; none if it
    is infeasible.
    """
    known = model.known(sample)
    if "infeasible" in known.values():
        return []
    with_job = [job.objective for job in model.jobs_of(sample)]
    missing = []
    for run in model.rules.runs:
        is_known = any(name in known for name in model.rules.outputs_of(run))
        if run not in with_job and not is_known:
            missing.append(run)
    return missing


def add_sample(
    model: StudyModel,
    sample: int,
    x: Point,
    evaluation: Evaluation,
) -> None:
    model.samples[sample] = Sample(full=True, x=x, imported=True)
    for name, value in evaluation.items():
        model.log_result(sample, name, value, "infeasible")
    if is_complete(model, sample):
        model.imported_complete += 1


def is_complete(model: StudyModel, sample: int) -> bool:
    known = model.known(sample)
    return all(isinstance(known.get(name), float) for name in model.rules.objectives)


def finish_import(model: StudyModel, *, made_jobs: bool) -> None:
    """After all rows of an import that changed anything."""
    if made_jobs:
        model.cancel_running = False
    model.log_events("imported")
    change_other_jobs(model)
    if any(step.kind == "initial" for step in model.due_steps):
        schedule_initial(model)
    else:
        schedule_due_steps(model)


def _as_result(value: float | None) -> Result:
    return "infeasible" if value is None else value
