"""Ratios: how many evaluations of an objective fit into one of the slowest."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TypeVar

from app.domain.studies import Objective
from counterpoise.wire.codes import RatioSource
from counterpoise.wire.specification import Specification

Key = TypeVar("Key")
ENOUGH_DURATIONS = 3  # of each run, before ratios are measured
LAST_DURATIONS = 100  # that a median is taken of
SHORTEST_S = 1e-6
LARGEST_RATIO = 1e9  # beyond any `max_ratio`: a quotient may overflow
ROUNDING = 1e-12  # 0.3 / 0.1 counts as 3
# By objective with jobs of its own, newest first
Durations = Mapping[int, Sequence[float]]


def declared_ratios(spec: Specification) -> list[float] | None:
    """From the specification's `ratios` or evaluation times; None if they must be
    measured.
    """
    runs = [output for output in spec.outputs if output.same_run_as is None]
    if spec.ratios is not None:
        by_run = {run.name: float(spec.ratios.get(run.name, 1.0)) for run in runs}
    elif spec.declared_times:
        by_run = ratios_of_times(
            {run.name: run.evaluation_time_s or 1.0 for run in runs}
        )
    else:
        return None
    return [
        _whole(by_run[output.same_run_as or output.name], spec)
        for output in spec.outputs
    ]


def ratio_source(
    spec: Specification, objectives: Sequence[Objective], durations: Durations
) -> RatioSource:
    if declared_ratios(spec) is not None:
        return RatioSource.DECLARED
    return (
        RatioSource.MEASURED
        if _is_measured(objectives, durations)
        else RatioSource.ASSUMED
    )


def measured_ratios(
    spec: Specification, objectives: Sequence[Objective], durations: Durations
) -> list[float]:
    """From the median of the last durations; 1 until each run has been measured often
    enough.
    """
    if not _is_measured(objectives, durations):
        return [1.0] * len(objectives)
    runs = [objective.id for objective in objectives if objective.has_jobs]
    times = {run: max(statistics.median(durations[run]), SHORTEST_S) for run in runs}
    by_run = ratios_of_times(times)
    return [_whole(by_run[objective.run], spec) for objective in objectives]


def ratios_of_times(times: Mapping[Key, float]) -> dict[Key, float]:
    """r_i = floor(t_max / t_i)."""
    slowest = max(times.values())
    quotients = {key: min(slowest / time, LARGEST_RATIO) for key, time in times.items()}
    return {
        key: float(math.floor(quotient * (1 + ROUNDING)))
        for key, quotient in quotients.items()
    }


def _is_measured(objectives: Sequence[Objective], durations: Durations) -> bool:
    runs = [objective.id for objective in objectives if objective.has_jobs]
    return all(len(durations.get(run, ())) >= ENOUGH_DURATIONS for run in runs)


def _whole(ratio: float, spec: Specification) -> float:
    """Only whole evaluations can be asked for: a ratio of 1.9 is 1, and its objective
    is not cheap.
    """
    return float(math.floor(min(ratio, spec.max_ratio)))
