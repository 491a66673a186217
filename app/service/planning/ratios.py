"""Ratios: how many evaluations of an objective fit into one of the slowest."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from app.store.studies.samples import last_durations
from counterpoise.wire.specification import Specification

ENOUGH, LAST = 3, 100
MOST = 1e9  # beyond any `max_ratio`; a quotient may overflow


def declared_ratios(spec: Specification) -> list[float] | None:
    """By the specification's `ratios` or evaluation times; None if they must be measured."""
    runs = {objective.name: objective for objective in spec.objectives if objective.same_run_as is None}
    if spec.ratios is not None:
        by_run = {name: float(spec.ratios.get(name, 1.0)) for name in runs}
    elif spec.declared_times:
        by_run = from_times({name: objective.evaluation_time_s or 1.0 for name, objective in runs.items()})
    else:
        return None
    return [_whole(by_run[o.same_run_as or o.name], spec) for o in spec.objectives]


def ratio_source(connection: Connection, study: Row[Any], rows: Sequence[Row[Any]]) -> str:
    if declared_ratios(Specification.model_validate(study.spec)) is not None:
        return "declared"
    runs = [row.id for row in rows if row.same_run_as is None]
    measured = all(len(last_durations(connection, run, ENOUGH)) == ENOUGH for run in runs)
    return "measured" if measured else "assumed"


def current_ratios(connection: Connection, study: Row[Any], rows: Sequence[Row[Any]]) -> list[float]:
    """The declared ones, or those measured up to now; 1 until each run has been measured often enough."""
    spec = Specification.model_validate(study.spec)
    declared = declared_ratios(spec)
    if declared is not None:
        return declared
    runs = [row for row in rows if row.same_run_as is None]
    durations = {row.id: last_durations(connection, row.id, LAST) for row in runs}
    if any(len(found) < ENOUGH for found in durations.values()):
        return [1.0] * len(rows)
    by_run = from_times({row.id: max(statistics.median(durations[row.id]), 1e-6) for row in runs})
    return [_whole(by_run[row.same_run_as or row.id], spec) for row in rows]


def _whole(ratio: float, spec: Specification) -> float:
    """A part of an evaluation cannot be asked for: 1.9, or a `max_ratio` of 1.9, is 1, and its objective not cheap."""
    return float(math.floor(min(ratio, spec.max_ratio)))


def from_times(times: dict[Any, float]) -> dict[Any, float]:
    """r_i = floor(t_max / t_i), where 0.3 / 0.1 counts as 3."""
    slowest = max(times.values())
    return {key: float(math.floor(min(slowest / took, MOST) * (1 + 1e-12))) for key, took in times.items()}
