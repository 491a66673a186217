"""Steps one after the other outside the service: each hands its models' hyperparameters to the next."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from app.optimizer.models.kriging import Kriging
from app.optimizer.models.surrogate import Truth
from app.optimizer.problem import Problem
from app.optimizer.proposal.records import Proposal
from app.optimizer.propose import fit_models, search, select
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Strategy

Array = NDArray[np.float64]
Frozen = tuple[Kriging | None, ...]
DESIGN, STREAM, SEARCH = 0, 1, 2  # kinds of step, which seed its generator together with objective and number


def generator(seed: int, kind: int, objective: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, kind, objective, number])


def take_step(
    declared: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: np.random.Generator,
    frozen: Frozen,
    truth: Mapping[int, Truth] | None = None,
) -> tuple[Proposal, Frozen]:
    """`propose` by its parts, so that the frozen models, which never change, are at hand for the step after."""
    models = fit_models(declared, snapshot, strategy, rng, truth=truth, frozen=frozen)
    proposal = select(declared, snapshot, strategy, models, search(declared, strategy, models, rng), rng)
    return proposal, tuple(surrogate.frozen for surrogate in models.surrogates)


def thetas(proposal: Proposal) -> tuple[tuple[Array | None, ...], tuple[Array | None, ...]]:
    """The hyperparameters that a step hands to the next: of its models, and of the frozen ones."""
    models = proposal.diagnostics.models
    return (
        tuple(None if model is None else np.array(model.theta) for model in models),
        tuple(np.array(theta) if (theta := model and model.frozen_theta) else None for model in models),
    )
