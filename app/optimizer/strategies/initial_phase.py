"""Which cheap-only points are evaluated while the design's expensive runs go on.

| symbol | here            | meaning                                                       |
|--------|-----------------|---------------------------------------------------------------|
| n      | `n`             | samples of the design                                         |
| r_j    | `problem.ratios`| objective j has n r_j evaluations, n of them are the design's |
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Floats, Ints
from app.optimizer.problem import Problem
from app.optimizer.search.design import initial_design
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.snapshot import Data


@dataclass(frozen=True, slots=True, eq=False)
class StreamState:
    """What a generation of a stream reads."""

    n: int
    planned: int  # points of the stream so far, without the design
    size: int  # points that are due now
    taken: Floats  # (k, d): every point asked of the stream's objectives
    # Of a stream with an objective of its own:
    objective: int | None = None
    data: Data | None = None  # all its values told so far, the design's included
    ids: Ints | None = None  # of the samples in `data`


# New points of each objective, (n_j, d); fewer only if the space has no more
Generation = Callable[[Problem, StreamState, Generator], tuple[Floats, ...]]


@dataclass(frozen=True, slots=True)
class InitialPhase:
    """`common`: one stream for all cheap objectives, else one for each."""

    common: bool
    generation: Generation


def genetic_generation(
    problem: Problem, state: StreamState, rng: Generator
) -> tuple[Floats, ...]:
    """A generation of the genetic algorithm that minimises one cheap objective."""
    if state.objective is None or state.data is None or state.ids is None:
        raise ValueError("this stream needs an objective, its values and their ids")
    data = sought_values(problem, state.objective, state.data)
    X = next_generation(problem, data, state.ids, state.size, rng, state.taken)
    outputs = range(len(problem.outputs))
    return tuple(X if j == state.objective else X[:0] for j in outputs)


def sought_values(problem: Problem, j: int, data: Data) -> Data:
    """What the stream of output j minimises: an objective, or how far a constraint is
    from its limit, where its model must be good.
    """
    if j < problem.m:
        return data
    return Data(data.X, np.abs(problem.limits[j].margin(data.y)))


def common_generation(
    problem: Problem, state: StreamState, rng: Generator
) -> tuple[Floats, ...]:
    """A Latin hypercube for all cheap objectives; where ratios differ, the last points
    of the stream are for the cheapest ones only.
    """
    X = initial_design(problem, state.size, rng, known=state.taken)
    left = np.maximum(initial_counts(problem, state.n) - state.planned, 0)  # (M,)
    return share(X, left)


def initial_points(
    problem: Problem,
    n: int,
    design: Floats,
    rng: Generator,
    generation: Generation = common_generation,
) -> tuple[Floats, ...]:
    """The whole of a common stream as one generation: the points of each objective."""
    size = int(initial_counts(problem, n).max())
    return generation(problem, StreamState(n, 0, size, design), rng)


def initial_counts(problem: Problem, n: int) -> Ints:
    """Cheap-only evaluations of each output that fit beside the design of n points:
    (r_j - 1) n, (M,).
    """
    counts = np.zeros(len(problem.outputs), dtype=np.int64)
    for j in problem.cheap:
        counts[j] = (int(problem.ratios[j]) - 1) * n
    return counts


def share(X: Floats, counts: Ints) -> tuple[Floats, ...]:
    """The first counts[j] points for objective j: (n_j, d) each."""
    return tuple(X[:count] for count in counts)


OWN_STREAMS = InitialPhase(common=False, generation=genetic_generation)
COMMON_POINTS = InitialPhase(common=True, generation=common_generation)
