"""What a result of one run does to the other jobs of its sample.

Pure: rules add to a change set. A sample that a run has ruled out, by an infeasible
result or a broken limit, is withdrawn: its jobs that no worker has are superseded. Jobs
that wait for the cheap runs become ready when all other outputs of their sample are
settled.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from app.domain.jobs import Job
from app.domain.samples import Evaluation
from app.domain.studies import CoObjectives, Objective, Study, slow_runs
from app.domain.work.changes import (
    ChangeSet,
    Event,
    JobChange,
    Limited,
    supersede,
)
from counterpoise.wire.codes import EventKind, JobState

_NOT_HELD = (JobState.WAITING, JobState.READY)


def samples_with_affected_jobs(changes: ChangeSet) -> set[int]:
    """Samples whose other jobs may change with this change set."""
    with_waiting = {
        change.job.sample
        for change in changes.jobs
        if change.job.sample_waiting and change.state.is_settled
    }
    return with_waiting | changes.infeasible_samples


def change_other_jobs(
    changes: ChangeSet, others: Iterable[Job], co_objectives: CoObjectives
) -> None:
    """`others`: the jobs of the affected samples, locked, as before the change set."""
    changed = {change.job.id for change in changes.jobs}
    by_sample: dict[int, list[Job]] = {}
    for job in others:
        if job.id not in changed:
            by_sample.setdefault(job.sample, []).append(job)
    infeasible = changes.infeasible_samples
    open_after = _open_after(changes, co_objectives)
    for sample, jobs in sorted(by_sample.items()):
        if sample in infeasible:
            _withdraw(changes, sample, jobs)
        elif open_after[sample] == jobs[0].sample_waiting:
            _make_ready(changes, jobs)


def _withdraw(changes: ChangeSet, sample: int, jobs: Sequence[Job]) -> None:
    withdrawn = [job for job in jobs if job.state in _NOT_HELD]
    if withdrawn:
        changes.jobs += supersede(withdrawn)
        body = {"sample": sample, "jobs": len(withdrawn)}
        changes.events.append(Event(EventKind.WITHDRAWN, body))


def _make_ready(changes: ChangeSet, jobs: Sequence[Job]) -> None:
    changes.jobs += [
        JobChange(job, JobState.READY) for job in jobs if job.state is JobState.WAITING
    ]


def _open_after(changes: ChangeSet, co_objectives: CoObjectives) -> Counter[int]:
    """By sample: outputs not settled after this change set."""
    open_after: Counter[int] = Counter()
    for change in changes.jobs:
        open_after[change.job.sample] = change.job.sample_open
    for change in changes.jobs:
        outputs = 1 + len(co_objectives.get(change.job.objective, ()))
        open_after[change.job.sample] += change.opened * outputs
    return open_after


def find_still_ruled_out(
    changes: ChangeSet,
    results: Iterable[Evaluation],
    jobs: Iterable[Job],
    co_objectives: CoObjectives,
) -> set[int]:
    """Samples that leave an infeasible result, but have another one that rules them
    out.

    `results` (in the order of the sequence) and `jobs`: all of these samples. The
    result of a job that is tried again no longer counts.
    """
    changed = {change.job.id: change.state for change in changes.jobs}
    taken_back = set()  # sample, output
    for job in jobs:
        if changed.get(job.id, job.state) not in (JobState.DONE, JobState.INFEASIBLE):
            for output in (job.objective, *co_objectives.get(job.objective, ())):
                taken_back.add((job.sample, output))
    for change in changes.leaving_infeasible:  # their old results
        run = change.job.objective
        for output in (run, *co_objectives.get(run, ())):
            taken_back.add((change.job.sample, output))
    last = {(result.sample, result.objective): result for result in results}
    return {
        sample
        for (sample, output), result in last.items()
        if (sample, output) not in taken_back and changes.rules_out(result)
    }


def limits_of_cheap_runs(study: Study, objectives: Sequence[Objective]) -> Limited:
    """The outputs whose limits rule a sample out: those of cheap runs.

    A slow run that breaks a limit rules nothing out, because the sample has no slower
    run to save.
    """
    threshold = study.spec.cheap_threshold
    limited = {}
    for objective in objectives:
        output = study.spec.outputs[objective.position]
        if output.is_limited and objective.is_cheap(threshold):
            limited[objective.id] = output
    return limited


def runs_that_wait(study: Study, objectives: Sequence[Objective]) -> frozenset[int]:
    """The slow runs of a new full sample, if its cheap runs are to come first.

    Unless declared, they come first where a cheap run can rule a sample out: it has a
    limit, or it has reported a sample as infeasible.
    """
    slow = slow_runs(study, objectives)
    cheap = [run for run in objectives if run.has_jobs and run not in slow]
    cheap_first = study.spec.cheap_first
    if cheap_first is None:
        has_limits = bool(limits_of_cheap_runs(study, objectives))
        cheap_first = has_limits or any(run.infeasible for run in cheap)
    if not cheap or not cheap_first:
        return frozenset()
    return frozenset(run.id for run in slow)
