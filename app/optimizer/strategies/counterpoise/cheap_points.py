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
