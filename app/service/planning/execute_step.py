"""One step: what it proposes is computed outside any transaction, then appears in one."""

import math
import platform
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row
from threadpoolctl import threadpool_info

from app.domain.changes import Ledger, superseded
from app.domain.step_names import name_in
from app.fault_points import point
from app.optimizer.arrays import Floats
from app.optimizer.models.fit_models import Map
from app.optimizer.problem import Problem
from app.optimizer.propose import propose
from app.optimizer.random_streams import generator, step_seed
from app.optimizer.search.design import initial_design
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.space import decode, integers
from app.optimizer.strategies.strategy import STRATEGIES, Strategy
from app.service.planning.hypervolume import hypervolume
from app.service.planning.schedule import make_due_what_is
from app.service.planning.snapshot import Past, complete, problem_of, read_past, search_snapshot
from app.service.studies.health import ENDINGS
from app.store.database import Database
from app.store.sql.clock import database_now
from app.store.studies.samples import NewSample, add_samples
from app.store.studies.steps import fail_step, finish_step, give_back, steps_of
from app.store.studies.studies import change_objective, change_study, find_study_by_id, guests, objectives_of
from app.store.wakeups import notify
from app.store.work.apply import write
from app.store.work.row_locks import lock_study, ready_jobs
from counterpoise.wire.codes import Ending
from counterpoise.wire.specification import Specification


@dataclass(slots=True)
class Plan:
    """What a step proposes: points in the unit cube, full ones and, per objective number, cheap-only ones."""

    full: Floats
    cheap: dict[int, Floats] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    shortfall: str | None = None
    samples: list[NewSample] = field(default_factory=list)  # the same in the user's terms


def prepare(database: Database, step: Row[Any], fit: Map = map) -> Plan:
    """Compute a step; reads the database, writes nothing, holds no connection while it computes."""
    began = time.perf_counter()
    with database.read() as connection:
        study = find_study_by_id(connection, step.study_id)
        spec = Specification.model_validate(study.spec)
        ratios = step.inputs.get("ratios") or [1.0] * len(spec.objectives)
        problem = problem_of(spec, ratios, step.inputs.get("cheap"))
        past = read_past(connection, problem, step)
        snapshot = search_snapshot(connection, problem, past, step) if step.kind == "search" else None
        reference = _reference(connection, step)
        rows = objectives_of(connection, step.study_id)
    read = time.perf_counter()
    rng = generator(study.seed, step.kind, step.objective, step.number)
    plan, timings = _propose(problem, spec, step, past, snapshot, rng, fit)
    if step.kind in ("search", "closing"):
        plan.record["hypervolume"] = hypervolume(complete(past)[1], reference)
    plan.record |= {
        "seed": step_seed(study.seed, step.kind, step.objective, step.number),
        "read_until": step.due_seq,
        "ratios": list(ratios),
        "shortfall": plan.shortfall,
        "versions": versions(),
        "timings_s": {"read": read - began, **timings},
    }
    plan.record = _plain(plan.record)
    plan.samples = list(new_samples(problem, rows, plan))
    return plan


def _propose(
    problem: Problem, spec: Specification, step: Row[Any], past: Past, snapshot: Any, rng: np.random.Generator, fit: Map
) -> tuple[Plan, dict[str, float]]:
    nothing = np.empty((0, problem.d))
    clock = _Laps()
    if step.kind == "initial":
        points = initial_design(problem, step.inputs["size"], rng, past.U)
        return Plan(points), {"design": clock.lap()}
    if step.kind == "stream":
        number = step.objective
        told = [one.id for one in past.samples if one.id in past.values[number]]
        taken = past.points([one.id for one in past.samples])
        ids = np.array(told, dtype=np.int64)
        points = next_generation(problem, past.data(number, told), ids, step.inputs["size"], rng, taken)
        return Plan(nothing, {number: points}), {"search": clock.lap()}
    if step.kind == "closing":
        return Plan(nothing), {}
    proposal = propose(problem, snapshot, strategy_of(spec), rng, fit=fit, clock=time.perf_counter)
    runs = {number for number, objective in enumerate(spec.objectives) if objective.same_run_as is None}
    cheap = {number: points for number, points in enumerate(proposal.cheap) if number in runs and len(points)}
    diagnostics = asdict(proposal.diagnostics)
    return Plan(proposal.full, cheap, diagnostics, proposal.shortfall), asdict(proposal.timings)


def strategy_of(spec: Specification) -> Strategy:
    return replace(STRATEGIES[spec.strategy], w_max=spec.generations)


class _Laps:
    def __init__(self) -> None:
        self.at = time.perf_counter()

    def lap(self) -> float:
        before, self.at = self.at, time.perf_counter()
        return self.at - before


def _plain(value: Any) -> Any:
    """As JSON has it: lists, plain numbers, and null for what is not finite."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _reference(connection: Connection, step: Row[Any]) -> list[float] | None:
    for one in steps_of(connection, step.study_id, "search"):
        if one.id < step.id:  # later ones are there when a step is computed again
            found = (one.record or {}).get("hypervolume")
            if found:
                reference: list[float] = found["reference"]
                return reference
    return None


def versions() -> dict[str, str]:
    """All that proposals may depend on, besides a study's data: the same here, the same to the last bit."""
    return {**_installed(), "blas": ", ".join(sorted(_linear_algebra()))}


@cache  # reading it takes longer than planning a small step
def _installed() -> dict[str, str]:
    names = ("counterpoise", "numpy", "scipy", "scikit-learn", "moocore")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _linear_algebra() -> set[str]:
    """Its kernels are chosen by the processor, and sum in another order with another number of threads."""
    return {
        f"{one['internal_api']} {one['version']} on {one.get('architecture', 'any')}, threads: {one['num_threads']}"
        for one in threadpool_info()
        if one["user_api"] == "blas"
    }


def commit(database: Database, step: Row[Any], plan: Plan) -> bool:
    """Make the step happen, once: False if the claim was lost or the study is no longer active."""
    point("step.computed")
    done = database.write(lambda connection: _commit(connection, step, plan))
    point("step.committed")
    return done


def _commit(connection: Connection, step: Row[Any], plan: Plan) -> bool:
    study = lock_study(connection, step.study_id)
    if study is None:
        return False
    if study.state != "active":
        give_back(connection, step.id, step.claim)
        return False
    if not finish_step(connection, step.id, step.claim, plan.record):
        return False
    rows = objectives_of(connection, study.id)
    also = guests(rows)
    ends = step.kind == "closing" and study.planned_full >= study.budget
    # A design of size 0 is wanted where imported samples stand in for all of it.
    exhausted = step.kind in ("initial", "search") and len(plan.full) == 0 and step.inputs["size"] > 0
    pointless = ready_jobs(connection, study.id, only_cheap=True) if step.kind == "search" or ends or exhausted else []
    ending = Ending.BUDGET_USED if ends else Ending.SPACE_EXHAUSTED
    said = [("step", _said(study, step, plan.samples))]
    if ends or exhausted:
        said.append(("finished", {"reason": ending, "detail": plan.shortfall or ENDINGS[ending]}))
    write(connection, study, Ledger(changes=superseded(pointless), events=said), also)
    if step.kind == "search":
        change_study(connection, study.id, step=step.number)
    if step.kind == "stream":
        mine = next(row for row in rows if row.position == step.objective)
        # A stream that finds no new point has ended; there is nothing left of its space.
        generation = step.number if len(plan.cheap.get(step.objective, ())) else -1
        change_objective(connection, mine.id, generation=generation)
    number = step.number if step.kind == "search" else 0
    add_samples(connection, study.id, plan.samples, also=also, step=step.id, number=number)
    if ends or exhausted:
        change_study(connection, study.id, phase="finished", finished_at=database_now(), ending=ending)
    # After a search step its samples are out: nothing is due before they are settled. A generation is due by a tell,
    # never by when a planner happens to commit.
    elif step.kind in ("initial", "closing"):
        make_due_what_is(connection, find_study_by_id(connection, study.id))
    notify(connection)
    point("step.written")
    return True


def _said(study: Row[Any], step: Row[Any], wanted: list[NewSample]) -> dict[str, Any]:
    full = sum(sample.full for sample in wanted)
    name = name_in(study, step.kind, step.number, step.objective)
    return {"step": name, "full": full, "cheap_only": len(wanted) - full}


def fail(database: Database, step: Row[Any], fault: str, backoff_s: float) -> None:
    """Note a fault; the step is tried again after a while."""

    def work(connection: Connection) -> None:
        study = lock_study(connection, step.study_id)
        if study is not None and fail_step(connection, step.id, step.claim, fault, backoff_s):
            name = name_in(study, step.kind, step.number, step.objective)
            said = {"step": name, "faults": step.faults + 1, "fault": fault}
            write(connection, study, Ledger(events=[("step_failed", said)]), {})

    database.write(work)


def new_samples(problem: Problem, rows: list[Row[Any]], plan: Plan) -> Iterable[NewSample]:
    """Full samples, then cheap-only ones; a point wanted on several objectives is one sample."""
    whole = set(integers(problem.variables))

    def user(U: Floats) -> list[list[float]]:
        points = decode(problem.variables, U).tolist()
        return [[int(x) if k in whole else x for k, x in enumerate(point)] for point in points]

    runs = tuple(row.id for row in rows if row.same_run_as is None)
    for x in user(plan.full):
        yield NewSample(x, runs, full=True)
    together: dict[tuple[float, ...], list[int]] = {}
    for number, points in sorted(plan.cheap.items()):
        for x in user(points):
            together.setdefault(tuple(x), []).append(rows[number].id)
    for where, objectives in together.items():
        yield NewSample(list(where), tuple(objectives), full=False)
