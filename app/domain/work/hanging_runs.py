"""Runs that take far longer than others of their kind."""

import statistics
from collections.abc import Sequence

FACTOR = 10.0  # times the upper quartile
ENOUGH_DURATIONS = 10  # measured runs, before any is said to hang
SHORTEST_S = 60.0


def longest_expected_s(durations: Sequence[float]) -> float | None:
    """A run that takes longer than this may hang; None before enough were measured."""
    if len(durations) < ENOUGH_DURATIONS:
        return None
    *_, upper = statistics.quantiles(durations, n=4, method="inclusive")
    return max(FACTOR * upper, SHORTEST_S)
