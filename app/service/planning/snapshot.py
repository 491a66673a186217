"""From records to arrays: the only place where the user's units and directions meet the
optimiser's unit cube.

What a step reads is a prefix of the study's sequence, so that it is the same however
late it is executed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.domain.samples import Evaluation, Sample
from app.domain.steps import Step
from app.domain.studies import Objective as StudyObjective
from app.optimizer.arrays import Floats
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import encode
from app.store.database import Connection
from app.store.studies.samples import evaluations_until, samples_of, wanted_outputs
from app.store.studies.steps import steps_of
from app.store.studies.studies import objectives_of
from counterpoise.wire.codes import FailureKind, StepKind
from counterpoise.wire.specification import Specification

# By sample: minimised value, its number in the study's sequence
Values = dict[int, tuple[float, int]]


def problem_of(
    spec: Specification, ratios: Sequence[float], cheap: Sequence[int] | None = None
) -> Problem:
    variables = tuple(
        Variable(v.name, v.low, v.high, v.type, v.scale) for v in spec.variables
    )
    objectives = tuple(Objective(o.name, o.direction) for o in spec.objectives)
    fixed = None if cheap is None else tuple(cheap)
    return Problem(variables, objectives, tuple(ratios), spec.cheap_threshold, fixed)


@dataclass(frozen=True, slots=True)
class Past:
    """All that a step may read, by position of the objective and row of U."""

    samples: list[Sample]
    U: Floats  # (n, d): the samples' points in the unit cube
    row: dict[int, int]  # sample -> row of U
    values: list[Values]
    infeasible: list[set[int]]  # samples
    wanted: list[set[int]]  # samples that were proposed for the objective, or imported

    def points(self, ids: Sequence[int]) -> Floats:
        return self.U[[self.row[sample] for sample in ids]]

    def data(self, objective: int, ids: Sequence[int]) -> Data:
        values = [self.values[objective][sample][0] for sample in ids]
        return Data(self.points(ids), np.array(values, dtype=float))

    def in_order(self, ids: Collection[int]) -> list[int]:
        return [sample.id for sample in self.samples if sample.id in ids]

    def complete(self) -> list[int]:
        """D: the full samples that have all values."""
        return [
            sample.id
            for sample in self.samples
            if sample.full and self._is_complete(sample.id)
        ]

    def _is_complete(self, sample: int) -> bool:
        return all(sample in values for values in self.values)

    def complete_values(self) -> Floats:
        """The values of D, (n, m)."""
        complete = self.complete()
        F = np.empty((len(complete), len(self.values)))
        for j, values in enumerate(self.values):
            F[:, j] = [values[sample][0] for sample in complete]
        return F


def read_past(connection: Connection, problem: Problem, step: Step) -> Past:
    samples = [
        sample
        for sample in samples_of(connection, step.study)
        if _was_there(sample, step)
    ]
    objectives = objectives_of(connection, step.study)
    known = {sample.id for sample in samples}
    proposed: dict[int, set[int]] = {objective.id: set() for objective in objectives}
    for sample, objective in wanted_outputs(connection, step.study):
        if sample in known:
            proposed[objective].add(sample)
    imported = {sample.id for sample in samples if sample.is_imported}
    X = np.array([sample.x for sample in samples], dtype=float).reshape(
        len(samples), problem.d
    )
    evaluations = evaluations_until(connection, step.study, step.due_seq)
    values, infeasible = _by_objective(evaluations, objectives, problem)
    return Past(
        samples=samples,
        U=encode(problem.variables, X),
        row={sample.id: row for row, sample in enumerate(samples)},
        values=values,
        infeasible=infeasible,
        wanted=[proposed[objective.run] | imported for objective in objectives],
    )


def _was_there(sample: Sample, step: Step) -> bool:
    """Whether the sample existed when the step became due; later ones exist when a step
    is replayed.
    """
    if sample.imported_seq is not None:
        return sample.imported_seq <= step.due_seq
    is_earlier = sample.number < step.number
    if step.kind is StepKind.INITIAL:
        return sample.kind is StepKind.INITIAL and is_earlier
    if sample.kind is StepKind.INITIAL:
        return True
    if sample.kind is StepKind.SEARCH:
        return step.kind is StepKind.CLOSING or (
            step.kind is StepKind.SEARCH and is_earlier
        )
    if step.kind is StepKind.STREAM:
        return sample.objective == step.objective and is_earlier
    return True


def _by_objective(
    evaluations: Sequence[Evaluation],
    objectives: Sequence[StudyObjective],
    problem: Problem,
) -> tuple[list[Values], list[set[int]]]:
    positions = {objective.id: objective.position for objective in objectives}
    signs = [
        -1.0 if objective.direction == "maximize" else 1.0
        for objective in problem.objectives
    ]
    values: list[Values] = [{} for _ in objectives]
    infeasible: list[set[int]] = [set() for _ in objectives]
    for evaluation in evaluations:
        position = positions[evaluation.objective]
        if evaluation.value is not None:
            values[position][evaluation.sample] = (
                signs[position] * evaluation.value,
                evaluation.seq,
            )
            infeasible[position].discard(evaluation.sample)
        elif evaluation.failure is FailureKind.INFEASIBLE:
            infeasible[position].add(evaluation.sample)
    return values, infeasible


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
    models = _previous_models(steps, step) or [None] * problem.m
    complete = past.complete()
    positions = range(problem.m)
    extras = [
        _extra(past, j, due_seqs) if j in problem.cheap else {} for j in positions
    ]
    partial = [
        _partial(past, j, set(complete), is_cheap=j in problem.cheap) for j in positions
    ]
    return Snapshot(
        step=step.number,
        settled=step.inputs["settled"],
        budget=step.inputs["budget"],
        batch=step.inputs["size"],
        X=past.points(complete).reshape(len(complete), problem.d),
        F=past.complete_values(),
        partial=tuple(past.data(j, partial[j]) for j in positions),
        extra=tuple(past.data(j, list(extras[j])) for j in positions),
        extra_steps=tuple(
            np.array(list(extras[j].values()), dtype=np.int64) for j in positions
        ),
        infeasible=tuple(
            past.points(past.in_order(past.infeasible[j])) for j in positions
        ),
        frozen=tuple(
            _frozen(past, j, due_seqs[1]) if j in problem.cheap else None
            for j in positions
        ),
        taken=tuple(past.points(past.in_order(past.wanted[j])) for j in positions),
        theta=tuple(_theta(model, "theta") for model in models),
        frozen_theta=tuple(_theta(model, "frozen_theta") for model in models),
    )


def _previous_models(
    steps: Sequence[Step], step: Step
) -> list[dict[str, Any] | None] | None:
    """The recorded models of the step before."""
    for other in steps:
        if other.number == step.number - 1 and other.record:
            models: list[dict[str, Any] | None] = other.record["models"]
            return models
    return None


def _partial(past: Past, j: int, complete: set[int], *, is_cheap: bool) -> list[int]:
    """Incomplete full samples with a value; for an expensive objective also samples of
    a stream that it once had.
    """
    with_value = [
        sample
        for sample in past.samples
        if sample.id in past.values[j] and sample.id not in complete
    ]
    return [sample.id for sample in with_value if sample.full or not is_cheap]


def _extra(past: Past, j: int, due_seqs: dict[int, int]) -> dict[int, int]:
    """Cheap-only samples with a value, and the step that proposed each.

    For a late value of a stream it is the step in which it came.
    """
    found = {}
    for sample in past.samples:
        if sample.full or sample.id not in past.values[j]:
            continue
        seq = past.values[j][sample.id][1]
        if sample.kind is StepKind.SEARCH:
            found[sample.id] = sample.number
        elif seq > due_seqs[1]:
            found[sample.id] = max(
                number for number, due_seq in due_seqs.items() if due_seq < seq
            )
    return found


def _frozen(past: Past, j: int, due_seq: int) -> Data:
    """The values of a cheap objective's stream, the design included, when search began."""
    values = past.values[j]
    known = {sample for sample, (_, seq) in values.items() if seq <= due_seq}
    return past.data(j, past.in_order(known))


def _theta(model: dict[str, Any] | None, name: str) -> Floats | None:
    return (
        None
        if model is None or model[name] is None
        else np.array(model[name], dtype=float)
    )
