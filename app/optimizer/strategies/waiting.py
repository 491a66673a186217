"""The initial phase of strategies that wait: nothing is evaluated beside the design."""

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.problem import Problem
from app.optimizer.strategies.initial_phase import InitialPhase, StreamState


def no_generation(
    problem: Problem, _state: StreamState, _rng: Generator
) -> tuple[Floats, ...]:
    """No point for any objective: the stream ends."""
    return (np.empty((0, problem.width)),) * len(problem.outputs)


NO_STREAMS = InitialPhase(common=False, generation=no_generation)
