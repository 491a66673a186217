"""Replay: compute an executed step again from what it read, and compare with what it
proposed.
"""

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.domain.samples import NewSample
from app.domain.steps import Step
from app.errors import RequestRefused
from app.optimizer.models.fit_task import Map
from app.optimizer.space import encode
from app.service.planning.compute_step import compute_step
from app.service.planning.snapshot import problem_of
from app.service.planning.user_units import to_numbers
from app.service.planning.versions import versions
from app.service.require_study import require_study
from app.store.database import Database
from app.store.studies.joins import proposals_of
from app.store.studies.steps import steps_of
from counterpoise.wire.codes import StepState
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.specification import Specification

NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Replayed:
    """How one step compares.

    `versions`: those that differ, as they were then and are now.
    """

    study: str
    step: str
    equal: bool
    samples: int  # that the step proposed
    equal_samples: int
    proposed_now: int
    # In the unit cube, between a sample and its counterpart; None without samples
    largest_distance: float | None
    faults: list[str] = field(default_factory=list)  # what else differs, for people
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)
    took_s: float = 0.0


def replay(
    database: Database, study: str, wanted: str | None, fit: Map = map
) -> Iterator[Replayed]:
    """Replay the step of this name, else all executed steps. Reads only."""
    for name, step in _steps_to_replay(database, study, wanted):
        yield _replay_step(database, study, name, step, fit)


def _steps_to_replay(
    database: Database, study_name: str, wanted: str | None
) -> list[tuple[str, Step]]:
    with database.read() as connection:
        study = require_study(connection, study_name)
        steps = [
            (step.name(study.spec.output_names), step)
            for step in steps_of(connection, study.id)
        ]
    executed = [(name, step) for name, step in steps if step.state is StepState.DONE]
    if wanted is None:
        return executed
    chosen = [(name, step) for name, step in executed if name == wanted]
    if chosen:
        return chosen
    if any(name == wanted for name, _ in steps):
        raise RequestRefused(
            f"step {wanted} of study {study_name!r} is due, not done; there is nothing to compare yet"
        )
    names = [name for name, _ in executed]
    last = f"; the last one done is {names[-1]}" if names else "; none is done yet"
    raise RequestRefused(
        f"study {study_name!r} has no step {wanted!r}{did_you_mean(wanted, names) or last}"
    )


def _replay_step(
    database: Database, study: str, name: str, step: Step, fit: Map
) -> Replayed:
    began = time.perf_counter()
    with database.read() as connection:
        spec = require_study(connection, study).spec
        then = proposals_of(connection, step)
    record = step.record or {}
    changed = changed_versions(record.get("versions", {}))
    try:
        plan = compute_step(database, step, fit)
    except Exception as error:  # noqa: BLE001  data that the step never read may do anything to it
        fault = (
            "computing it again failed: "
            + "".join(traceback.format_exception_only(error)).strip()
        )
        took_s = time.perf_counter() - began
        return Replayed(
            study, name, False, len(then), 0, 0, None, [fault], changed, took_s
        )
    equal_samples, largest_distance = compare_samples(spec, then, plan.samples)
    faults = _other_differences(record, plan.record)
    return Replayed(
        study=study,
        step=name,
        equal=equal_samples == len(then) == len(plan.samples) and not faults,
        samples=len(then),
        equal_samples=equal_samples,
        proposed_now=len(plan.samples),
        largest_distance=largest_distance,
        faults=faults,
        versions=changed,
        took_s=time.perf_counter() - began,
    )


def compare_samples(
    spec: Specification, then: Sequence[NewSample], now: Sequence[NewSample]
) -> tuple[int, float | None]:
    """How many samples are equal to the last bit, in their place; and the largest
    distance of the others.

    Full samples are compared with full ones, so that one more or less does not shift
    all others.
    """
    equal = 0
    largest = None
    variables = problem_of(spec, [1.0] * len(spec.outputs)).variables
    for full in (True, False):
        before = [sample for sample in then if sample.full == full]
        after = [sample for sample in now if sample.full == full]
        pairs = list(zip(before, after, strict=False))
        equal += sum(_is_equal(a, b) for a, b in pairs)
        if pairs:
            X_before = to_numbers(spec.variables, [a.x for a, _ in pairs])  # (n, d)
            X_after = to_numbers(spec.variables, [b.x for _, b in pairs])  # (n, d)
            moved = encode(variables, X_before) - encode(variables, X_after)
            distances = np.linalg.norm(moved, axis=1)
            largest = max(largest or 0.0, float(distances.max()))
    return equal, largest


def _is_equal(a: NewSample, b: NewSample) -> bool:
    return list(a.x) == list(b.x) and sorted(a.objectives) == sorted(b.objectives)


def _other_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """A closing step proposes nothing: its hypervolume is compared, as that of a search
    step is.
    """
    before, after = _hypervolume(then), _hypervolume(now)
    return (
        []
        if before == after
        else [f"the hypervolume was {before!r} and is now {after!r}"]
    )


def _hypervolume(record: Mapping[str, Any]) -> float | None:
    value = (record.get("hypervolume") or {}).get("value")
    # A database may return 1e23 as an integer
    return None if value is None else float(value)


def changed_versions(then: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    now = versions()
    changed = {}
    for name in {**then, **now}:
        before, after = then.get(name, NOT_RECORDED), now.get(name, NOT_RECORDED)
        if before != after:
            changed[name] = (before, after)
    return changed
