"""From rows to arrays: the only place where the user's units and directions meet the optimiser's unit cube.

What a step sees is a prefix of the study's sequence, so that it is the same however late it is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row

from app.optimizer.arrays import Floats
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import encode
from app.store.studies.samples import Origin, Outcome, jobs_of, outcomes_until, samples_of
from app.store.studies.steps import steps_of
from app.store.studies.studies import objectives_of
from counterpoise.wire.specification import Specification


def problem_of(spec: Specification, ratios: Sequence[float], cheap: Sequence[int] | None = None) -> Problem:
    variables = tuple(Variable(v.name, v.low, v.high, v.type, v.scale) for v in spec.variables)
    objectives = tuple(Objective(o.name, o.direction) for o in spec.objectives)
    fixed = None if cheap is None else tuple(cheap)
    return Problem(variables, objectives, tuple(ratios), spec.cheap_threshold, fixed)


@dataclass(frozen=True, slots=True)
class Past:
    """All that a step may look at, by objective number and row of U."""

    samples: list[Origin]
    U: Floats  # (n, d): the samples' points in the unit cube
    row: dict[int, int]  # sample -> row of U
    values: list[dict[int, tuple[float, int]]]  # per objective: sample -> (minimised value, seq)
    infeasible: list[set[int]]  # per objective: samples
    wanted: list[set[int]]  # per objective: samples that it was asked for, and imported ones

    def points(self, ids: Sequence[int]) -> Floats:
        return self.U[[self.row[sample] for sample in ids]]

    def data(self, objective: int, ids: Sequence[int]) -> Data:
        return Data(self.points(ids), np.array([self.values[objective][sample][0] for sample in ids], dtype=float))


def read_past(connection: Connection, problem: Problem, step: Row[Any]) -> Past:
    samples = [one for one in samples_of(connection, step.study_id) if _before(one, step)]
    outcomes = outcomes_until(connection, step.study_id, step.due_seq)
    rows = objectives_of(connection, step.study_id)
    run = {row.id: row.same_run_as or row.id for row in rows}
    asked: dict[int, set[int]] = {}
    known = {one.id for one in samples}
    for sample, objective in jobs_of(connection, step.study_id):
        if sample in known:
            asked.setdefault(objective, set()).add(sample)
    X = np.array([one.x for one in samples], dtype=float).reshape(len(samples), problem.d)
    values, infeasible = _outcomes(outcomes, [row.id for row in rows], problem)
    imported = {one.id for one in samples if one.imported_seq is not None}
    return Past(
        samples=samples,
        U=encode(problem.variables, X),
        row={one.id: index for index, one in enumerate(samples)},
        values=values,
        infeasible=infeasible,
        wanted=[asked.get(run[row.id], set()) | imported for row in rows],
    )


def _before(sample: Origin, step: Row[Any]) -> bool:
    """Was the sample there when the step became due? Later steps matter when a step is computed again."""
    if sample.imported_seq is not None:
        return bool(sample.imported_seq <= step.due_seq)
    if step.kind == "initial":
        return bool(sample.kind == "initial" and (sample.number or 0) < step.number)
    if sample.kind == "initial":
        return True
    if sample.kind == "search":
        return step.kind == "closing" or bool(step.kind == "search" and (sample.number or 0) < step.number)
    if step.kind == "stream":
        return bool(sample.objective == step.objective and (sample.number or 0) < step.number)
    return True


def _outcomes(
    outcomes: Sequence[Outcome], objectives: Sequence[int], problem: Problem
) -> tuple[list[dict[int, tuple[float, int]]], list[set[int]]]:
    place = {objective: number for number, objective in enumerate(objectives)}
    sign = [-1.0 if objective.direction == "maximize" else 1.0 for objective in problem.objectives]
    values: list[dict[int, tuple[float, int]]] = [{} for _ in objectives]
    infeasible: list[set[int]] = [set() for _ in objectives]
    for one in outcomes:
        number = place[one.objective]
        if one.value is not None:
            values[number][one.sample] = (sign[number] * one.value, one.seq)
            infeasible[number].discard(one.sample)
        elif one.failure == "infeasible":
            infeasible[number].add(one.sample)
    return values, infeasible


def complete(past: Past) -> tuple[list[int], Floats]:
    """D: the full samples that have all values, and those, (n, m)."""
    ids = [one.id for one in past.samples if one.full and all(one.id in values for values in past.values)]
    F = np.array([[values[sample][0] for values in past.values] for sample in ids], dtype=float)
    return ids, F.reshape(len(ids), len(past.values))


def search_snapshot(connection: Connection, problem: Problem, past: Past, step: Row[Any]) -> Snapshot:
    """What the search step may see."""
    before = [one for one in steps_of(connection, step.study_id, "search") if one.number <= step.number]
    dues = {one.number: one.due_seq for one in before}
    record = next((one.record for one in before if one.number == step.number - 1), None)
    models = record["models"] if record else [None] * problem.m
    ids, F = complete(past)
    done = set(ids)
    numbers = range(problem.m)
    extras = [_extra(past, number, problem, dues) for number in numbers]
    return Snapshot(
        step=step.number,
        settled=step.inputs["settled"],
        budget=step.inputs["budget"],
        batch=step.inputs["size"],
        X=past.points(ids).reshape(len(ids), problem.d),
        F=F,
        partial=tuple(past.data(number, _partial(past, number, problem, done)) for number in numbers),
        extra=tuple(past.data(number, [sample for sample, _ in extras[number]]) for number in numbers),
        extra_steps=tuple(np.array([came for _, came in extras[number]], dtype=np.int64) for number in numbers),
        infeasible=tuple(past.points(_known(past, past.infeasible[number])) for number in numbers),
        frozen=tuple(_frozen(past, number, dues[1]) if number in problem.cheap else None for number in numbers),
        taken=tuple(past.points(_known(past, past.wanted[number])) for number in numbers),
        theta=tuple(_theta(model, "theta") for model in models),
        frozen_theta=tuple(_theta(model, "frozen_theta") for model in models),
    )


def _known(past: Past, ids: set[int]) -> list[int]:
    return [one.id for one in past.samples if one.id in ids]


def _partial(past: Past, number: int, problem: Problem, done: set[int]) -> list[int]:
    """Values of incomplete full samples; for an expensive objective, also those that a stream once asked for."""
    alone = number not in problem.cheap
    return [
        one.id for one in past.samples if one.id in past.values[number] and one.id not in done and (one.full or alone)
    ]


def _extra(past: Past, number: int, problem: Problem, dues: dict[int, int]) -> list[tuple[int, int]]:
    """Cheap-only samples with a value, and the step that asked (for a stream's late value: in which it came)."""
    found = []
    for one in past.samples:
        if one.full or one.id not in past.values[number] or number not in problem.cheap:
            continue
        seq = past.values[number][one.id][1]
        if one.kind == "search":
            found.append((one.id, one.number or 0))
        elif seq > dues[1]:
            found.append((one.id, max(step for step, due in dues.items() if due < seq)))
    return found


def _frozen(past: Past, number: int, due: int) -> Data:
    """What the stream of a cheap objective, the design included, had told when search began."""
    values = past.values[number]
    return past.data(number, [one.id for one in past.samples if one.id in values and values[one.id][1] <= due])


def _theta(model: dict[str, Any] | None, name: str) -> Floats | None:
    return None if model is None or model[name] is None else np.array(model[name], dtype=float)
