"""Strategies: records of functions and numbers.

An ablation is its parent with one field replaced.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from numpy.random import Generator

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_task import FitTask, fit_task
from app.optimizer.models.kriging import Kriging
from app.optimizer.models.training_data import (
    Archive,
    KeepExtra,
    TrainingSet,
    clustered_subset,
    random_subset,
    true_cheap,
    two_members,
)
from app.optimizer.proposal.acquisition import Scaling, no_penalty, search_bias_penalty
from app.optimizer.search.reference_vectors import Lattice


@dataclass(frozen=True, slots=True)
class Strategy:
    train: Callable[[Archive, int, Generator], TrainingSet] = two_members
    penalty: Callable[[Floats, Floats, int], Floats] = search_bias_penalty
    fit: Callable[[FitTask], Kriging] = fit_task
    # `paper`: raw means, as published; `range`: does not depend on the user's units
    scaling: Scaling = "range"
    keep_extra: KeepExtra = "last"
    lattice: Lattice = "small"
    w_max: int = 20  # generations of RVEA
    size: int | None = None  # L; None: 11 d - 1 + 25

    def training_size(self, d: int) -> int:
        return 11 * d - 1 + 25 if self.size is None else self.size


SBP_BO = Strategy()

STRATEGIES = {
    "sbp-bo": SBP_BO,
    "bo-aaf": replace(SBP_BO, penalty=no_penalty),
    "sbp-bo-r": replace(SBP_BO, train=random_subset),
    "sbp-bo-c": replace(SBP_BO, train=clustered_subset),
    "sbp-nogpc": replace(SBP_BO, train=true_cheap),
}
