"""From records to arrays: the only place where the user's units and directions meet the
optimiser's unit cube.

What a step reads is a prefix of the study's sequence, so that it is the same however
late it is executed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.domain.samples import Evaluation, Sample
from app.domain.steps import Step
from app.domain.studies import Objective as StudyObjective
from app.optimizer.arrays import Floats, Ints
from app.optimizer.limits import Limit
from app.optimizer.problem import Constraint, Objective, Problem
from app.optimizer.samples import Samples
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import encode
from app.service.planning.joined_samples import JoinedRun, joined_runs
from app.service.planning.user_units import (
    Declared,
    optimizer_requirements,
    optimizer_variables,
    to_numbers,
)
from app.store.database import Connection
from app.store.studies.exclusions import excluded_until
from app.store.studies.samples import evaluations_until, samples_of, wanted_outputs
from app.store.studies.steps import steps_of
from app.store.studies.studies import objectives_of
from counterpoise.wire.codes import FailureKind, StepKind
from counterpoise.wire.specification import Specification

# By sample: minimised value, its number in the study's sequence
Values = dict[int, tuple[float, int]]
Failures = dict[int, FailureKind]  # by sample


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


@dataclass(frozen=True, slots=True)
class Past:
    """All that a step may read, by position of the output and row of U."""

    samples: list[Sample]
    U: Floats  # (n, D): the samples' points in the unit cube
    row: dict[int, int]  # sample -> row of U
    values: list[Values]
    failures: list[Failures]  # final ones
    wanted: list[set[int]]  # samples that were proposed for the objective, or imported
    limits: tuple[Limit, ...]  # of minimised values
    joined: list[dict[int, JoinedRun]]  # by sample of another step

    def points(self, ids: Sequence[int]) -> Floats:
        return self.U[[self.row[sample] for sample in ids]]

    def data(self, objective: int, ids: Sequence[int]) -> Data:
        values = [self.values[objective][sample][0] for sample in ids]
        return Data(self.points(ids), np.array(values, dtype=float))

    def in_order(self, objective: int, ids: Collection[int]) -> list[int]:
        """In the order in which they were proposed for the objective."""
        joined = self.joined[objective]
        known = [sample for sample in ids if sample in self.row]
        return sorted(
            known,
            key=lambda sample: (
                joined[sample].place if sample in joined else (sample, 0)
            ),
        )

    def complete(self) -> list[int]:
        """D: the full samples that have all values."""
        return [
            sample.id
            for sample in self.samples
            if sample.full and self._is_complete(sample.id)
        ]

    def _is_complete(self, sample: int) -> bool:
        return all(sample in values for values in self.values)

    def full_steps(self, ids: Sequence[int]) -> Ints:
        """The search step that asked for each sample, 0 for the design and imports."""
        samples = [self.samples[self.row[sample]] for sample in ids]
        return np.array([sample.search_number for sample in samples], dtype=np.int64)

    def infeasible(self, objective: int) -> list[int]:
        """The samples that were reported as infeasible by the objective's run."""
        failures = self.failures[objective]
        return self.in_order(
            objective,
            {
                sample
                for sample, kind in failures.items()
                if kind is FailureKind.INFEASIBLE
            },
        )

    def unknown(self, objective: int, ids: Sequence[int]) -> list[int]:
        """Those of the samples that have neither a value nor a failure."""
        known = self.values[objective].keys() | self.failures[objective].keys()
        return [sample for sample in ids if sample not in known]

    def partly_known(self, ids: Sequence[int]) -> Samples:
        """The values of the samples, as far as they are known."""
        m = len(self.values)
        F, known = np.zeros((len(ids), m)), np.zeros((len(ids), m), dtype=np.bool_)
        for j, values in enumerate(self.values):
            for row, sample in enumerate(ids):
                if sample in values:
                    F[row, j], known[row, j] = values[sample][0], True
        numbers = {sample.id: sample.search_number for sample in self.samples}
        steps = np.array([numbers[sample] for sample in ids], dtype=np.int64)
        return Samples(self.points(ids), F, known, steps)

    def pool(self) -> list[int]:
        """Cheap-only samples of which something is known, no run has failed and no
        limit is broken: those that can be promoted.
        """
        left_out: set[int] = set().union(*self.failures)
        for values, limit in zip(self.values, self.limits, strict=True):
            left_out |= {
                sample
                for sample, (y, _) in values.items()
                if not limit.lower <= y <= limit.upper
            }
        known: set[int] = set().union(*self.values)
        return [
            sample.id
            for sample in self.samples
            if not sample.full and sample.id in known and sample.id not in left_out
        ]

    def complete_values(self) -> Floats:
        """The values of D, (n, M)."""
        complete = self.complete()
        F = np.empty((len(complete), len(self.values)))
        for j, values in enumerate(self.values):
            F[:, j] = [values[sample][0] for sample in complete]
        return F


def read_past(
    connection: Connection, declared: Declared, problem: Problem, step: Step
) -> Past:
    all_samples = samples_of(connection, step.study)
    runs = joined_runs(connection, step.study, all_samples)
    joined = {pair: run for pair, run in runs.items() if _was_proposed(run, step)}
    known = {
        sample.id: _as_it_was(sample, step)
        for sample in all_samples
        if _was_there(sample, step)
    }
    also_there = {sample for sample, _ in joined}
    samples = [
        _as_it_was(sample, step)
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
    X = to_numbers(declared, [sample.x for sample in samples])
    excluded = excluded_until(connection, step.study, step.due_seq)
    evaluations = [
        evaluation
        for evaluation in evaluations_until(connection, step.study, step.due_seq)
        if evaluation.sample not in excluded
    ]
    values, failures = _by_objective(evaluations, objectives, problem)
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


def _was_there(sample: Sample, step: Step) -> bool:
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


def _as_it_was(sample: Sample, step: Step) -> Sample:
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
    problem: Problem,
) -> tuple[list[Values], list[Failures]]:
    positions = {objective.id: objective.position for objective in objectives}
    signs = [
        -1.0 if objective.direction == "maximize" else 1.0
        for objective in problem.objectives
    ]
    signs += [1.0] * len(problem.constraints)
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
    # Steps that were due before there was overlap have recorded none.
    pending = step.inputs.get("pending", [])
    positions = range(len(problem.outputs))
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
        warm_starts=tuple(model and model.get("warm_start") for model in models),
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
