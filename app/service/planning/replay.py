"""Replay: a step that is done, computed again from what it read and compared with what it proposed."""

import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Row

from app.domain.step_names import step_name
from app.errors import RequestRefused
from app.optimizer.models.fit_models import Map
from app.optimizer.space import encode
from app.service.planning.execute_step import prepare, versions
from app.service.planning.snapshot import problem_of
from app.service.studies.lifecycle import find
from app.store.database import Database
from app.store.studies.samples import NewSample, proposed_by
from app.store.studies.steps import steps_of
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.specification import Specification

NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one step. `versions`: those that differ, as they were then and are now."""

    study: str
    step: str
    equal: bool
    samples: int  # that the step proposed
    equal_samples: int
    proposed_now: int
    largest_distance: float | None  # in the unit cube, between a sample and its counterpart; None: nothing to compare
    faults: list[str] = field(default_factory=list)  # what else differs, in words
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)
    took_s: float = 0.0


def steps_to_replay(database: Database, study: str, wanted: str | None) -> list[tuple[str, Row[Any]]]:
    """The step of this name, else all that are done, with their names."""
    with database.read() as connection:
        row = find(connection, study)
        names = [objective["name"] for objective in row.spec["objectives"]]
        found = [(step_name(s.kind, s.number, s.objective, names) or "", s) for s in steps_of(connection, row.id)]
    done = [(name, step) for name, step in found if step.state == "done"]
    if wanted is None:
        return done
    chosen = [(name, step) for name, step in done if name == wanted]
    if chosen:
        return chosen
    if any(name == wanted for name, _ in found):
        raise RequestRefused(f"step {wanted} of study {study!r} is due, not done; there is nothing to compare yet")
    known = [name for name, _ in done]
    last = f"; the last one done is {known[-1]}" if known else "; none is done yet"
    raise RequestRefused(f"study {study!r} has no step {wanted!r}{did_you_mean(wanted, known) or last}")


def replay(database: Database, study: str, wanted: str | None, fit: Map = map) -> Iterator[Replayed]:
    """One step, or all of them in turn. Reads only."""
    for name, step in steps_to_replay(database, study, wanted):
        yield replay_step(database, study, name, step, fit)


def replay_step(database: Database, study: str, name: str, step: Row[Any], fit: Map = map) -> Replayed:
    began = time.perf_counter()
    with database.read() as connection:
        spec = Specification.model_validate(find(connection, study).spec)
        then = proposed_by(connection, step.id)
    changed = changed_versions(step.record.get("versions", {}))
    try:
        plan = prepare(database, step, fit)
    except Exception as error:  # noqa: BLE001  data that the step never saw may do anything to it
        words = "computing it again failed: " + "".join(traceback.format_exception_only(error)).strip()
        return Replayed(study, name, False, len(then), 0, 0, None, [words], changed, time.perf_counter() - began)
    now = plan.samples
    equal, largest = compare(spec, then, now)
    faults = _other_differences(step.record, plan.record)
    return Replayed(
        study=study,
        step=name,
        equal=equal == len(then) == len(now) and not faults,
        samples=len(then),
        equal_samples=equal,
        proposed_now=len(now),
        largest_distance=largest,
        faults=faults,
        versions=changed,
        took_s=time.perf_counter() - began,
    )


def compare(spec: Specification, then: Sequence[NewSample], now: Sequence[NewSample]) -> tuple[int, float | None]:
    """How many samples are the same, in their place, to the last bit; and how far the others are at most.

    Full samples are compared with full ones, so that one more or less does not put all others out of step.
    """
    equal, largest = 0, None
    variables = problem_of(spec, [1.0] * len(spec.objectives)).variables
    for full in (True, False):
        pairs = list(zip((s for s in then if s.full == full), (s for s in now if s.full == full), strict=False))
        equal += sum((list(a.x), sorted(a.objectives)) == (list(b.x), sorted(b.objectives)) for a, b in pairs)
        if pairs:
            apart = encode(variables, np.array([a.x for a, _ in pairs], dtype=float)) - encode(
                variables, np.array([b.x for _, b in pairs], dtype=float)
            )  # (n, d)
            largest = max(largest or 0.0, float(np.linalg.norm(apart, axis=1).max()))
    return equal, largest


def _other_differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """A closing step proposes nothing: what it found is compared, as it is for a search step."""
    values = [(record.get("hypervolume") or {}).get("value") for record in (then, now)]
    found = [None if value is None else float(value) for value in values]  # a database may have 1e23 as an integer
    return [] if found[0] == found[1] else [f"the hypervolume was {found[0]!r} and is now {found[1]!r}"]


def changed_versions(then: dict[str, str]) -> dict[str, tuple[str, str]]:
    now = versions()
    pairs = {name: (then.get(name, NOT_RECORDED), now.get(name, NOT_RECORDED)) for name in {**then, **now}}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
