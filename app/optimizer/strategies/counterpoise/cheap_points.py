"""How many cheap-only samples a step asks for."""

import numpy as np

from app.optimizer.arrays import Ints
from app.optimizer.problem import Problem


def extra_counts(problem: Problem, batch: int, full_evaluations: Ints) -> Ints:
    """Cheap-only evaluations of each output in one step, (M,): what r_j per full
    sample leaves.

    `full_evaluations` (M,): evaluations of each output that the step's own full
    samples need. A promoted sample needs no evaluation of an objective that is known,
    so these become extras.
    """
    counts = np.zeros(len(problem.outputs), dtype=np.int64)
    for j in problem.cheap:
        counts[j] = batch * int(problem.ratios[j]) - full_evaluations[j]
    return np.maximum(counts, 0)


def extras_in_all(counts: Ints, *, common: bool) -> int:
    """Points that give output j its `counts` (M,), whether they are common or not."""
    return int(counts.max() if common else counts.sum())


def rows_per_output(counts: Ints, found: int, *, common: bool) -> tuple[Ints, ...]:
    """Which of the extras found, the best first, each output gets: the first ones, or
    in turn with the other outputs, so that no point is evaluated twice.
    """
    if common:
        return tuple(np.arange(min(count, found)) for count in counts.tolist())
    output = np.repeat(np.arange(len(counts)), counts)
    turn = np.concatenate([np.arange(count) for count in counts])
    owner = output[np.argsort(turn, kind="stable")][:found]
    return tuple(np.flatnonzero(owner == j) for j in range(len(counts)))
