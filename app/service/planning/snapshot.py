"""From records to arrays: here the user's units and directions become the optimiser's
unit cube; `user_units` leads back.

What a step reads is a prefix of the study's sequence, so that it is the same however
late it is executed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from app.domain.samples import Evaluation, Sample
from app.domain.steps import Step
from app.domain.studies import Objective as StudyObjective
from app.optimizer.arrays import Floats
from app.optimizer.problem import Constraint, Objective, Problem
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import encode
from app.service.models.forecasts import forecasts
from app.service.planning.joined_samples import JoinedRun, joined_runs
from app.service.planning.past_samples import Failures, Past, Values
from app.service.planning.user_units import (
    optimizer_requirements,
    optimizer_variables,
    to_numbers,
)
from app.store.database import Connection
from app.store.studies.evaluations import evaluations_until
from app.store.studies.exclusions import excluded_until
from app.store.studies.samples import samples_of, wanted_outputs
from app.store.studies.steps import steps_of
from app.store.studies.studies import objectives_of
from counterpoise.wire.codes import StepKind
from counterpoise.wire.specification import Specification


def problem_of(
    spec: Specification, ratios: Sequence[float], cheap: Sequence[int] | None = None
) -> Problem:
    objectives = tuple(
        Objective(o.name, o.direction, o.lower, o.upper, _noise(o.noise))
        for o in spec.objectives
    )
    constraints = tuple(Constraint(o.name, o.lower, o.upper) for o in spec.constraints)
    return Problem(
        optimizer_variables(spec.variables),
        objectives,
        tuple(ratios),
        spec.cheap_threshold,
        fixed_cheap=None if cheap is None else tuple(cheap),
        requirements=optimizer_requirements(spec),
        constraints=constraints,
    )


def _noise(declared: float) -> float | None:
    """Of `true` None: it is to be estimated."""
    estimated = isinstance(declared, bool) and bool(declared)
    return None if estimated else float(declared)


def read_past(
    connection: Connection, spec: Specification, problem: Problem, step: Step
) -> Past:
    all_samples = samples_of(connection, step.study)
    runs = joined_runs(connection, step.study, all_samples)
    joined = {pair: run for pair, run in runs.items() if _was_proposed(run, step)}
    known = {
        sample.id: _before_later_promotion(sample, step)
        for sample in all_samples
        if _existed_when_due(sample, step)
    }
    also_there = {sample for sample, _ in joined}
    samples = [
        _before_later_promotion(sample, step)
        for sample in all_samples
        if sample.id in known or sample.id in also_there
    ]
    objectives = objectives_of(connection, step.study)
    proposed: dict[int, set[int]] = {objective.id: set() for objective in objectives}
    for sample, objective, number in wanted_outputs(connection, step.study):
        if (sample, objective) in runs:
            is_wanted = (sample, objective) in joined
        else:
            is_wanted = sample in known and not _is_of_later_promotion(
                known[sample], number
            )
        if is_wanted:
            proposed[objective].add(sample)
    imported = {sample.id for sample in samples if sample.is_imported}
    X = to_numbers(spec.variables, [sample.x for sample in samples])
    excluded = excluded_until(connection, step.study, step.due_seq)
    evaluations = [
        evaluation
        for evaluation in evaluations_until(connection, step.study, step.due_seq)
        if evaluation.sample not in excluded
    ]
    values, failures = _by_objective(evaluations, objectives, spec)
    return Past(
        samples=samples,
        U=encode(problem.variables, X),
        row={sample.id: row for row, sample in enumerate(samples)},
        values=values,
        failures=failures,
        wanted=[proposed[objective.run] | imported for objective in objectives],
        limits=problem.limits,
        joined=[_joined_with(joined, objective.run) for objective in objectives],
    )


def _existed_when_due(sample: Sample, step: Step) -> bool:
    """Whether the sample existed when the step became due; later ones exist when a step
    is replayed.
    """
    if sample.imported_seq is not None:
        return sample.imported_seq <= step.due_seq
    return _was_proposed(sample, step)


def _was_proposed(proposal: Sample | JoinedRun, step: Step) -> bool:
    is_earlier = proposal.number < step.number
    if step.kind is StepKind.INITIAL:
        return proposal.kind is StepKind.INITIAL and is_earlier
    if proposal.kind is StepKind.INITIAL:
        return True
    if proposal.kind is StepKind.SEARCH:
        return step.kind is StepKind.CLOSING or (
            step.kind is StepKind.SEARCH and is_earlier
        )
    if step.kind is StepKind.STREAM:
        return proposal.objective == step.objective and is_earlier
    return True


def _before_later_promotion(sample: Sample, step: Step) -> Sample:
    """Without a promotion that came with this step or later."""
    if sample.promoted_in is None or step.kind is StepKind.CLOSING:
        return sample
    was_promoted = step.kind is StepKind.SEARCH and sample.promoted_in < step.number
    return sample if was_promoted else replace(sample, full=False)


def _joined_with(
    joined: Mapping[tuple[int, int], JoinedRun], objective: int
) -> dict[int, JoinedRun]:
    """By sample: the runs of one objective."""
    return {sample: run for (sample, of), run in joined.items() if of == objective}


def _is_of_later_promotion(sample: Sample, number: int) -> bool:
    """Whether the job with this number was added after the step became due."""
    return not sample.full and sample.promoted_in == number


def _by_objective(
    evaluations: Sequence[Evaluation],
    objectives: Sequence[StudyObjective],
    spec: Specification,
) -> tuple[list[Values], list[Failures]]:
    positions = {objective.id: objective.position for objective in objectives}
    signs = [output.sign for output in spec.outputs]
    values: list[Values] = [{} for _ in objectives]
    failures: list[Failures] = [{} for _ in objectives]
    for evaluation in evaluations:
        position = positions[evaluation.objective]
        if evaluation.value is not None:
            values[position][evaluation.sample] = (
                signs[position] * evaluation.value,
                evaluation.seq,
            )
            failures[position].pop(evaluation.sample, None)
        elif evaluation.failure is not None:
            failures[position][evaluation.sample] = evaluation.failure
    return values, failures


def search_snapshot(
    connection: Connection, problem: Problem, past: Past, step: Step
) -> Snapshot:
    """What the search step reads."""
    steps = [
        other
        for other in steps_of(connection, step.study, StepKind.SEARCH)
        if other.number <= step.number
    ]
    due_seqs = {other.number: other.due_seq for other in steps}
    models = _previous_models(steps, step) or [None] * len(problem.outputs)
    complete = past.complete()
    inputs = step.inputs
    if inputs.settled is None or inputs.budget is None:
        raise ValueError("the inputs of the step lack `settled` or `budget`")
    # Steps that were due before there was overlap have recorded none.
    pending = inputs.pending or []
    positions = range(len(problem.outputs))
    extras = [
        _extra(past, j, due_seqs) if j in problem.cheap else {} for j in positions
    ]
    partial = [
        _partial(past, j, set(complete), is_cheap=j in problem.cheap) for j in positions
    ]
    return Snapshot(
        step=step.number,
        settled=inputs.settled,
        budget=inputs.budget,
        batch=inputs.size or 0,
        X=past.points(complete).reshape(len(complete), problem.width),
        F=past.complete_values(),
        full_steps=past.full_steps(complete),
        partial=tuple(past.data(j, partial[j]) for j in positions),
        extra=tuple(past.data(j, list(extras[j])) for j in positions),
        extra_steps=tuple(
            np.array(list(extras[j].values()), dtype=np.int64) for j in positions
        ),
        infeasible=tuple(past.points(past.infeasible(j)) for j in positions),
        frozen=tuple(
            _frozen(past, j, due_seqs[1]) if j in problem.cheap else None
            for j in positions
        ),
        taken=tuple(past.points(past.in_order(j, past.wanted[j])) for j in positions),
        pending=tuple(past.points(past.unknown(j, pending)) for j in positions),
        running=past.partly_known(pending),
        pool=past.partly_known(past.pool()),
        theta=tuple(_theta(model, "theta") for model in models),
        frozen_theta=tuple(_theta(model, "frozen_theta") for model in models),
        forecasts=forecasts(past, steps, step),
        warm_starts=tuple(model and model.get("warm_start") for model in models),
    )


def _previous_models(
    steps: Sequence[Step], step: Step
) -> list[dict[str, Any] | None] | None:
    """The recorded models of the step before."""
    for other in steps:
        if other.number == step.number - 1 and other.record:
            return list(other.models)
    return None


def _partial(past: Past, j: int, complete: set[int], *, is_cheap: bool) -> list[int]:
    """Incomplete full samples with a value; for an expensive objective also samples of
    a stream that it once had.
    """
    is_full = {sample.id: sample.full for sample in past.samples}
    with_value = past.in_order(j, past.values[j].keys() - complete)
    return [sample for sample in with_value if is_full[sample] or not is_cheap]


def _extra(past: Past, j: int, due_seqs: dict[int, int]) -> dict[int, int]:
    """Cheap-only samples with a value, and the step that proposed each.

    For a late value of a stream it is the step in which it came.
    """
    found = {}
    for sample in past.in_order(j, past.values[j]):
        row = past.samples[past.row[sample]]
        if row.full:
            continue
        proposal = past.joined[j].get(sample, row)
        seq = past.values[j][sample][1]
        if proposal.search_number:
            found[sample] = proposal.search_number
        elif seq > due_seqs[1]:
            found[sample] = max(
                number for number, due_seq in due_seqs.items() if due_seq < seq
            )
    return found


def _frozen(past: Past, j: int, due_seq: int) -> Data:
    """The values of a cheap objective's stream, the design included, when search began."""
    values = past.values[j]
    known = {sample for sample, (_, seq) in values.items() if seq <= due_seq}
    return past.data(j, past.in_order(j, known))


def _theta(model: dict[str, Any] | None, name: str) -> Floats | None:
    return (
        None
        if model is None or model[name] is None
        else np.array(model[name], dtype=float)
    )
