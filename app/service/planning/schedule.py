"""Which steps have become due: decided in every transaction that settles jobs, from
counters; what needs a query is read only where the counters leave it open.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from app.domain.planning.ratios import LAST_DURATIONS, declared_ratios, measured_ratios
from app.domain.planning.stepping import (
    Finish,
    Generation,
    Nothing,
    SearchStep,
    due,
    may_plan,
)
from app.domain.planning.stepping_progress import largest_ratios, progress_of
from app.domain.steps import NO_OBJECTIVE, StepInputs, step_name
from app.domain.studies import Objective, Study
from app.domain.work.changes import ChangeSet, Event
from app.store.database import Connection
from app.store.studies.evaluations import last_durations
from app.store.studies.samples import unsettled_full_samples
from app.store.studies.steps import (
    count_steps,
    drop_due,
    due_steps,
    find_step,
    make_due,
)
from app.store.studies.studies import change_objective, change_study, objectives_of
from app.store.wakeups import notify
from app.store.work.apply_changes import apply
from counterpoise.wire.codes import EventKind, Phase, StepKind


def schedule_due_steps(connection: Connection, study: Study) -> None:
    """Record, under the study's lock, which steps have become due and the prefix of the
    sequence that they read.
    """
    may_search = may_plan(study.phase, study.unsettled_full, study.overlap)
    if study.is_finished or (study.phase is Phase.SEARCH and not may_search):
        return  # most tells end here, before anything is read
    waiting = due_steps(connection, study.id)
    if any(step.kind is not StepKind.STREAM for step in waiting):
        return
    objectives = objectives_of(connection, study.id)
    streaming = {step.objective for step in waiting}
    if not may_search:
        _schedule_generations(connection, study, objectives, streaming)
        return
    ratios = [objective.ratio for objective in objectives]
    progress = replace(
        progress_of(study, objectives, ratios, streaming),
        found_no_point=_found_no_point(connection, study),
    )
    match due(progress):
        case SearchStep(number, size):
            _schedule_search(connection, study, objectives, number, size)
        case Finish():
            inputs = StepInputs(budget=study.budget)
            step = _make_due(connection, study, StepKind.CLOSING, study.budget, inputs)
            _announce(connection, study, [step])


def _found_no_point(connection: Connection, study: Study) -> bool:
    """Whether the last search step proposed no full sample; read only where it decides
    something.
    """
    is_decisive = study.unsettled_full > 0 and study.planned_full < study.budget
    if study.phase is not Phase.SEARCH or not is_decisive:
        return False
    last = find_step(connection, study.id, StepKind.SEARCH, study.step)
    return last is not None and last.found_no_point


def is_step_waiting(connection: Connection, study: Study) -> bool:
    """Whether a step is due that has to be executed before another one can be."""
    steps = due_steps(connection, study.id)
    return any(step.kind is not StepKind.STREAM for step in steps)


def schedule_initial(connection: Connection, study: Study) -> None:
    """The initial design is due; if it was due before, it is now, with what has been
    imported since.
    """
    drop_due(connection, study.id, [StepKind.INITIAL])
    # Numbered, because a study that was stopped with its design may be extended, and
    # needs another one.
    number = count_steps(connection, study.id, StepKind.INITIAL)
    missing = study.spec.initial_count - study.imported_complete
    inputs = StepInputs(size=max(missing, 0), budget=study.budget)
    step = _make_due(connection, study, StepKind.INITIAL, number, inputs)
    _announce(connection, study, [step])


def _schedule_generations(
    connection: Connection,
    study: Study,
    objectives: Sequence[Objective],
    streaming: Collection[int],
) -> None:
    possible = progress_of(
        study, objectives, largest_ratios(study, objectives), streaming
    )
    if isinstance(due(possible), Nothing):
        return
    ratios = current_ratios(connection, study, objectives)
    for objective, ratio in zip(objectives, ratios, strict=True):
        if ratio != objective.ratio:
            change_objective(connection, objective.id, ratio=ratio)
    scheduled = set(streaming)
    steps = []
    while isinstance(
        decision := due(progress_of(study, objectives, ratios, scheduled)), Generation
    ):
        inputs = StepInputs(size=decision.size, ratios=ratios)
        number, position = decision.number, decision.objective
        step = _make_due(connection, study, StepKind.STREAM, number, inputs, position)
        scheduled.add(position)
        steps.append(step)
    if steps:
        _announce(connection, study, steps)


def _schedule_search(
    connection: Connection,
    study: Study,
    objectives: Sequence[Objective],
    number: int,
    size: int,
) -> None:
    ratios = current_ratios(connection, study, objectives)
    cheap = []
    for objective, ratio in zip(objectives, ratios, strict=True):
        # Which objectives are cheap is fixed when search begins; later only the ratios
        # follow.
        is_cheap = objective.is_cheap(study.spec.cheap_threshold, ratio)
        if is_cheap:
            cheap.append(objective.position)
        if (ratio, is_cheap) != (objective.ratio, objective.cheap):
            change_objective(connection, objective.id, ratio=ratio, cheap=is_cheap)
    search_begins = study.phase is Phase.INITIAL
    if search_begins:
        change_study(connection, study.id, phase=Phase.SEARCH)
        drop_due(connection, study.id, [StepKind.STREAM])
    inputs = StepInputs(
        size=size,
        budget=study.budget,
        ratios=ratios,
        settled=study.settled_full,
        unsettled=study.unsettled_full,
        cheap=cheap,
        overlap=study.overlap,
        # Samples that run: what is told of them later must not change the step.
        pending=unsettled_full_samples(connection, study.id),
    )
    step = _make_due(connection, study, StepKind.SEARCH, number, inputs)
    before = [Event(EventKind.PHASE, {"phase": Phase.SEARCH})] if search_begins else []
    _announce(connection, study, [step], before)


def current_ratios(
    connection: Connection, study: Study, objectives: Sequence[Objective]
) -> list[float]:
    """The declared ratios, or those measured so far."""
    declared = declared_ratios(study.spec)
    if declared is not None:
        return declared
    runs = [objective.id for objective in objectives if objective.has_jobs]
    return measured_ratios(
        study.spec, objectives, last_durations(connection, runs, LAST_DURATIONS)
    )


def _make_due(
    connection: Connection,
    study: Study,
    kind: StepKind,
    number: int,
    inputs: StepInputs,
    objective: int = NO_OBJECTIVE,
) -> str:
    """Record that a step is due, with the present prefix of the sequence; returns its
    name.
    """
    make_due(connection, study.id, kind, number, study.sequence, inputs, objective)
    return step_name(kind, number, objective, study.spec.output_names)


def _announce(
    connection: Connection,
    study: Study,
    steps: Sequence[str],
    before: Sequence[Event] = (),
) -> None:
    """Add events for steps that are due; in the study's sequence they follow all that
    the steps may read.
    """
    events = [Event(EventKind.STEP_DUE, {"step": step}) for step in steps]
    apply(connection, study, ChangeSet(events=[*before, *events]))
    notify(connection)
