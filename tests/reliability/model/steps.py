"""When a step is due, how many samples it proposes, and what changes when it is
committed.
"""

from collections.abc import Collection, Mapping

from tests.reliability.model.records import Job, Sample, StepId
from tests.reliability.model.study import StudyModel
from tests.reliability.model.transitions import supersede_ready

LAMBDA = 50  # samples of one generation of a stream
NO_OBJECTIVE = -1


def drop_due(model: StudyModel, kind: str) -> None:
    for step in list(model.due_steps):
        if step.kind == kind:
            del model.due_steps[step]


def schedule_initial(model: StudyModel) -> None:
    """Complete imported samples take the place of samples of the design."""
    drop_due(model, "initial")
    number = sum(step.kind == "initial" for step in model.done_steps)
    size = max(model.rules.initial_samples - model.imported_complete, 0)
    _make_due(model, StepId("initial", NO_OBJECTIVE, number), size)


def schedule_due_steps(model: StudyModel) -> None:
    waits_for_step = any(step.kind != "stream" for step in model.due_steps)
    if model.phase == "finished" or waits_for_step:
        return
    unsettled = len(model.planned_full) - len(model.settled_full)
    overlap = model.rules.overlap if model.phase == "search" else 0
    has_budget = len(model.planned_full) < model.budget
    if unsettled <= overlap and has_budget:
        _schedule_search(model)
    elif unsettled == 0:
        _make_due(model, StepId("closing", NO_OBJECTIVE, model.budget), 0)
    elif model.phase == "initial":
        for run in model.rules.runs:
            _schedule_stream(model, run)


def _make_due(model: StudyModel, step: StepId, size: int) -> None:
    model.due_steps[step] = size
    model.log_events("step_due")


def _schedule_search(model: StudyModel) -> None:
    size = min(model.rules.batch_size, model.budget - len(model.planned_full))
    if model.phase == "initial":
        model.phase = "search"
        model.log_events("phase")
    model.due_steps.clear()
    _make_due(model, StepId("search", NO_OBJECTIVE, model.step + 1), size)


def _schedule_stream(model: StudyModel, run: str) -> None:
    """A generation is due when at most half of the last one is unsettled; the design
    counts as the first.
    """
    position = model.rules.objectives.index(run)
    ratio = model.rules.ratios[run]
    is_due = any(step.is_stream_of(position) for step in model.due_steps)
    if ratio <= 1 or is_due:
        return
    design = len(model.planned_full)
    done = [step.number for step in model.done_steps if step.is_stream_of(position)]
    generation = max(done, default=0)
    last_size = LAMBDA if generation else min(LAMBDA, design)
    jobs = model.jobs_for(run)
    of_last = [job for job in jobs if job.cheap_only == (generation > 0)]
    unsettled = sum(job.is_open for job in of_last)
    size = min(LAMBDA, design * ratio - len(jobs))
    if unsettled <= last_size // 2 and size > 0:
        _make_due(model, StepId("stream", position, generation + 1), size)


def commit(model: StudyModel, step: StepId, promoted: Collection[int] = ()) -> int:
    """Return the number of samples that the step proposes; the caller adds them with
    `add_proposal`.
    """
    size = model.due_steps.pop(step)
    model.done_steps.append(step)
    finishes = step.kind == "closing" and len(model.planned_full) >= model.budget
    if step.kind == "search" or finishes:
        supersede_ready(model, only_cheap=True, but=promoted)
    model.log_events("step")
    if step.kind == "search":
        model.step = step.number
    if finishes:
        model.phase = "finished"
        model.log_events("finished")
    return size


def cheap_runs_come_first(model: StudyModel) -> bool:
    """As declared, else once a cheap run has ruled a sample out."""
    if model.rules.cheap_first is not None:
        return model.rules.cheap_first
    return any(
        model.rules.ratios[job.objective] > 1 for job in model.jobs_in("infeasible")
    )


def promote(model: StudyModel, promoted: Collection[int]) -> None:
    """Cheap-only samples become full ones, unless they were ruled out meanwhile: what
    was superseded is wanted again.
    """
    for number in promoted:
        if model.samples[number].infeasible:
            continue
        model.samples[number].full = True
        for job in model.jobs_of(number):
            if job.state == "superseded":
                job.move_to("ready")
            if job.is_open:
                job.cheap_only = False


def add_proposal(
    model: StudyModel,
    step: StepId,
    samples: Mapping[int, Sample],
    jobs: Mapping[int, Job],
    promoted: Collection[int] = (),
) -> None:
    """Add what the step proposed; the points are the optimiser's."""
    waits = cheap_runs_come_first(model)
    promote(model, promoted)
    for job in jobs.values():
        is_slow = model.rules.ratios[job.objective] == 1
        others = [*model.jobs_of(job.sample), *jobs.values()]
        has_cheap_run = any(
            other.is_open
            and other.sample == job.sample
            and model.rules.ratios[other.objective] > 1
            for other in others
        )
        is_waiting = waits and is_slow and not job.cheap_only and has_cheap_run
        assert job.state == ("waiting" if is_waiting else "ready")
    model.samples |= samples
    model.jobs |= jobs
    if step.kind != "stream":
        schedule_due_steps(model)
