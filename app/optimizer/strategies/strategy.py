"""Strategies: records of functions and numbers.

An ablation is its parent with one field replaced. A strategy that works in another way
brings a step function of its own, with its own settings; fields that this function does
not read have no effect.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.models.belief import Belief
from app.optimizer.models.fit_task import FitTask, FrozenModels, Map, fit_task
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.surrogate import Truth
from app.optimizer.models.training_data import (
    Archive,
    InfeasibleRule,
    KeepExtra,
    TrainingSet,
    two_members,
)
from app.optimizer.problem import Problem
from app.optimizer.proposal.acquisition import Scaling, search_bias_penalty
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.search.reference_vectors import Lattice
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.initial_phase import OWN_STREAMS, InitialPhase

ModelFamily = Literal["paper", "evidence"]


def no_clock() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Resources:
    """What the caller lends a step; see `propose`. None of it changes the points, but
    `truth`.
    """

    fit: Map = map
    truth: Mapping[int, Truth] = field(default_factory=dict)
    frozen: FrozenModels = ()
    clock: Callable[[], float] = no_clock


def no_refusal(_problem: Problem) -> str | None:
    return None


# A pure function of its arguments and of the generator's state
Step = Callable[[Problem, Snapshot, "Strategy", Generator, Resources], Proposal]


@dataclass(frozen=True, slots=True)
class Strategy:
    step: Step
    # Why the strategy cannot be used for a problem; None: it can
    refusal: Callable[[Problem], str | None] = no_refusal
    initial: InitialPhase = OWN_STREAMS
    train: Callable[[Archive, int, Generator], TrainingSet] = two_members
    penalty: Callable[[Floats, Floats, int], Floats] = search_bias_penalty
    fit: Callable[[FitTask], Kriging] = fit_task
    # `paper`: Kriging and the frozen model of the stream as a product of experts;
    # `evidence`: kernels, data and weights chosen by what predicts the samples best
    models: ModelFamily = "paper"
    # `paper`: raw means, as published; `range`: does not depend on the user's units
    scaling: Scaling = "range"
    keep_extra: KeepExtra = "last"
    lattice: Lattice = "small"
    w_max: int = 20  # generations of RVEA
    size: int | None = None  # L; None: 11 d - 1 + 25
    infeasible: InfeasibleRule = "learnt"
    belief: Belief = "mean"  # at points whose values are still to come

    def training_size(self, d: int) -> int:
        return 11 * d - 1 + 25 if self.size is None else self.size
