"""One stream of random numbers per step, seeded by the step's identity."""

import numpy as np
from numpy.random import Generator

from counterpoise.wire.codes import StepKind

NO_OBJECTIVE = -1  # of a step that belongs to no single objective
# Stored studies are replayed with these numbers: never change one.
KIND_NUMBERS = {
    StepKind.INITIAL: 0,
    StepKind.STREAM: 1,
    StepKind.SEARCH: 2,
    StepKind.CLOSING: 3,
}


def step_seed(seed: int, kind: StepKind, objective: int, number: int) -> list[int]:
    return [seed, KIND_NUMBERS[kind], objective + 1, number]


def generator(seed: int, kind: StepKind, objective: int, number: int) -> Generator:
    return np.random.default_rng(step_seed(seed, kind, objective, number))
