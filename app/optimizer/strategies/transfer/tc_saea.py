"""`tc-saea`: a co-surrogate of the difference of both objectives labels extras for the
expensive model ([TC-SAEA], Wang et al. 2021).
"""

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Bools, Floats
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.step_models import Models
from app.optimizer.problem import Problem
from app.optimizer.proposal.acquisition import no_penalty
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.transfer.pair import (
    is_transfer_step,
    needs_a_pair,
    newest_extras,
    one_member,
    pair_of,
    transfer_step,
    with_model,
)

LAST_TRANSFER = 25  # from this step on nothing is transferred


def tc_saea_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    resources: Resources,
) -> Proposal:
    return transfer_step(problem, snapshot, strategy, rng, resources, label_extras)


def label_extras(
    problem: Problem, snapshot: Snapshot, models: Models, _rng: Generator
) -> Models:
    """The expensive model with labels for the extras of the step before."""
    cheap, expensive = pair_of(problem)
    is_due = is_transfer_step(snapshot.step, problem.ratios[cheap])
    extras = newest_extras(snapshot, cheap)
    plain = models.surrogates[expensive].model
    is_over = not is_due or snapshot.step >= LAST_TRANSFER
    if is_over or not isinstance(plain, Kriging) or not len(extras):
        return models
    X, y = models.X, models.F[:, expensive]
    co = Kriging().fit(X, y - models.F[:, cheap])
    labels = extras.y + co.mean(extras.X)
    mean, std = plain.mean_and_std(extras.X)
    kept = is_plausible(labels, mean, std)
    # Differs from [TC-SAEA]: hyperparameters stay those of true values.
    model = Kriging(theta0=plain.theta_, optimize=False)
    model.fit(np.vstack([X, extras.X[kept]]), np.append(y, labels[kept]))
    return with_model(models, expensive, model)


def is_plausible(labels: Floats, mean: Floats, std: Floats) -> Bools:
    """Which labels lie within one standard deviation of the expensive model, (n,)."""
    return np.asarray(np.abs(labels - mean) <= std)


TC_SAEA = Strategy(
    step=tc_saea_step, refusal=needs_a_pair, train=one_member, penalty=no_penalty
)
