"""Compute a step: what it reads, what the optimiser proposes.

Reads the database and writes nothing.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from app.domain.planning.step_models import StepModels
from app.domain.samples import NewSample, Point
from app.domain.steps import Step
from app.domain.studies import Objective
from app.optimizer.arrays import Floats
from app.optimizer.models.fit_task import Map
from app.optimizer.models.model_arrays import pack
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.random_streams import generator, step_seed
from app.optimizer.search.design import initial_design
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.catalogue import SERVICE_MODELS, STRATEGIES
from app.optimizer.strategies.initial_phase import StreamState
from app.optimizer.strategies.strategy import Strategy
from app.service.models.predicted_front import predicted_front
from app.service.planning.hypervolume import hypervolume
from app.service.planning.past_samples import Past
from app.service.planning.plan import Plan
from app.service.planning.snapshot import problem_of, read_past, search_snapshot
from app.service.planning.user_units import from_cube
from app.service.planning.versions import versions
from app.store.database import Connection, Database
from app.store.studies.evaluations import count_evaluations
from app.store.studies.steps import steps_of
from app.store.studies.studies import find_study_by_id, objectives_of
from counterpoise.wire.codes import StepKind
from counterpoise.wire.specification import Specification

STEPS_AT_ONCE = 8


def compute_step(database: Database, step: Step, fit: Map = map) -> Plan:
    """Holds no connection while it computes."""
    clock = _Laps()
    with database.read() as connection:
        study = find_study_by_id(connection, step.study)
        objectives = objectives_of(connection, step.study)
        ratios = step.inputs.ratios or [1.0] * len(objectives)
        problem = problem_of(study.spec, ratios, step.inputs.cheap)
        past = read_past(connection, study.spec, problem, step)
        snapshot = (
            search_snapshot(connection, problem, past, step)
            if step.kind is StepKind.SEARCH
            else None
        )
        reference = _reference_point(connection, step)
        slow = _slow_evaluations(connection, objectives, step)
    clock.lap("read")
    identity = (study.seed, step.kind, step.objective, step.number)
    plan = _propose(
        problem, study.spec, step, past, snapshot, generator(*identity), fit, clock
    )
    if step.kind in (StepKind.SEARCH, StepKind.CLOSING):
        plan.record |= _front_record(problem, past, reference)
    plan.record |= {
        "seed": step_seed(*identity),
        "read_until": step.due_seq,
        "ratios": list(ratios),
        "slow": slow,
        "shortfall": plan.shortfall,
        "promoted": plan.promoted,
        "versions": versions(),
        "timings_s": clock.laps,
    }
    plan.record = _as_json(plan.record)
    plan.samples = list(_new_samples(study.spec, problem, objectives, plan))
    return plan


def _propose(
    problem: Problem,
    spec: Specification,
    step: Step,
    past: Past,
    snapshot: Snapshot | None,
    rng: np.random.Generator,
    fit: Map,
    clock: "_Laps",
) -> Plan:
    nothing = np.empty((0, problem.width))
    if step.kind is StepKind.INITIAL:
        design = initial_design(problem, step.inputs.size or 0, rng, past.U)
        clock.lap("design")
        return Plan(design)
    if step.kind is StepKind.STREAM:
        generation = _next_generation(problem, spec, step, past, rng)
        clock.lap("search")
        return Plan(nothing, generation)
    if snapshot is None:
        return Plan(nothing)
    proposal = propose(
        problem, snapshot, strategy_of(spec), rng, fit=fit, clock=time.perf_counter
    )
    clock.laps |= asdict(proposal.timings)
    pool = past.pool()
    promoted = [pool[row] for row in proposal.promoted]
    record = asdict(proposal.diagnostics)
    missing = snapshot.batch - len(proposal.full) - len(promoted)
    untold = past.untold() if missing > 0 else []
    if untold:  # no other point is left; nothing was predicted of these
        promoted += untold[:missing]
        record["full_samples"] = ()
    return Plan(
        full=proposal.full,
        cheap=_by_run(spec, proposal.cheap),
        promoted=promoted,
        record=record,
        repeated=frozenset(
            row
            for row, source in enumerate(proposal.diagnostics.full_sources)
            if source == "repeated"
        ),
        shortfall=proposal.shortfall,
        models=_step_models(spec, problem, proposal),
    )


def _step_models(
    spec: Specification, problem: Problem, proposal: Proposal
) -> StepModels:
    front = predicted_front(proposal)
    rows = []
    points = from_cube(spec.variables, problem.variables, front.U)
    for row, x in enumerate(points):
        mean, deviation = front.mean[row], front.deviation[row]
        rows.append({"x": x, "mean": mean, "deviation": deviation})
    return StepModels(pack(proposal.models.surrogates), _as_json(rows))


def _front_record(
    problem: Problem, past: Past, reference: Sequence[float] | None
) -> dict[str, Any]:
    """How many complete samples keep all limits, and the hypervolume of these."""
    F = past.complete_values()  # (n, M)
    feasible = np.ones(len(F), dtype=np.bool_)
    for limit, y in zip(problem.limits, F.T, strict=True):
        feasible &= limit.excess(y) == 0.0
    objectives = F[:, : problem.m]
    return {
        "feasible": int(feasible.sum()),
        "hypervolume": hypervolume(objectives[feasible], reference, objectives),
    }


def _next_generation(
    problem: Problem,
    spec: Specification,
    step: Step,
    past: Past,
    rng: np.random.Generator,
) -> dict[int, Floats]:
    """New points of cheap objectives, by position."""
    j = step.objective
    evaluated = past.in_order(j, past.values[j])
    state = StreamState(
        n=past.count(StepKind.INITIAL),
        planned=past.count(StepKind.STREAM),
        size=step.inputs.size or 0,
        taken=past.points([sample.id for sample in past.samples]),
        objective=j,
        data=past.data(j, evaluated),
        ids=np.arange(len(evaluated), dtype=np.int64),
    )
    generation = STRATEGIES[spec.strategy].initial.generation
    return _by_run(spec, generation(problem, state, rng))


def _by_run(spec: Specification, points: Sequence[Floats]) -> dict[int, Floats]:
    """The points of each objective that has jobs of its own, where there are any."""
    return {
        position: points[position]
        for position, output in enumerate(spec.outputs)
        if output.same_run_as is None and len(points[position])
    }


def strategy_of(spec: Specification) -> Strategy:
    strategy = replace(STRATEGIES[spec.strategy], w_max=spec.generations)
    if spec.models is not None:
        return replace(strategy, models=spec.models)
    if spec.is_noisy:  # models by evidence do not read the declared noise
        return replace(strategy, models="paper")
    return replace(strategy, models=SERVICE_MODELS.get(spec.strategy, "paper"))


class _Laps:
    """How long the parts of a step took."""

    def __init__(self) -> None:
        self._at = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, part: str) -> None:
        before, self._at = self._at, time.perf_counter()
        self.laps[part] = self._at - before


def _as_json(value: Any) -> Any:
    """Lists, plain numbers, and null for what is not finite."""
    if isinstance(value, Mapping):
        return {name: _as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, np.ndarray):
        return _as_json(value.tolist())
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _reference_point(connection: Connection, step: Step) -> list[float] | None:
    """The hypervolume's reference point, which stays that of the study's first search
    step.
    """
    after = 0
    # A few at a time, as mostly the first one has it and records are large
    while page := steps_of(
        connection, step.study, StepKind.SEARCH, after=after, limit=STEPS_AT_ONCE
    ):
        for other in page:
            if other.id >= step.id:  # later ones exist when a step is replayed
                return None
            if other.hypervolume:
                reference: list[float] = other.hypervolume["reference"]
                return reference
        after = page[-1].id
    return None


def _slow_evaluations(
    connection: Connection,
    objectives: Sequence[Objective],
    step: Step,
) -> dict[str, float]:
    """How often the slowest run was evaluated, and how long that took in all."""
    ratios = step.inputs.ratios or [objective.ratio for objective in objectives]
    runs = [objective for objective in objectives if objective.has_jobs]
    slowest = min(runs, key=lambda run: ratios[run.position])
    count, seconds = count_evaluations(connection, slowest.id, step.due_seq)
    return {
        "objective": slowest.position,
        "evaluations": count,
        "seconds": seconds,
    }


def _new_samples(
    spec: Specification, problem: Problem, objectives: Sequence[Objective], plan: Plan
) -> Iterator[NewSample]:
    """Full samples, then cheap-only ones; a point wanted on several objectives is one
    sample.
    """
    runs = tuple(objective.id for objective in objectives if objective.has_jobs)
    for row, x in enumerate(from_cube(spec.variables, problem.variables, plan.full)):
        yield NewSample(x, runs, full=True, repeated=row in plan.repeated)
    wanted_on: dict[Point, list[int]] = {}
    for position, points in sorted(plan.cheap.items()):
        for x in from_cube(spec.variables, problem.variables, points):
            wanted_on.setdefault(tuple(x), []).append(objectives[position].id)
    for point, wanted in wanted_on.items():
        yield NewSample(list(point), tuple(wanted), full=False)
