"""`t-saea`: the expensive model takes hyperparameters of shared variables from the cheap
one ([T-SAEA], Wang et al. 2020).
"""

import numpy as np
from numpy.random import Generator

from app.optimizer.arrays import Bools, Floats
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.step_models import Models
from app.optimizer.problem import Problem
from app.optimizer.proposal.acquisition import no_penalty, variance_weight
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.transfer.feature_selection import shared_variables
from app.optimizer.strategies.transfer.pair import (
    is_transfer_step,
    needs_a_pair,
    one_member,
    pair_of,
    transfer_step,
    with_model,
)


def t_saea_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    resources: Resources,
) -> Proposal:
    return transfer_step(
        problem, snapshot, strategy, rng, resources, share_hyperparameters
    )


def share_hyperparameters(
    problem: Problem, snapshot: Snapshot, models: Models, rng: Generator
) -> Models:
    """At a step without a refit, theta_e of the shared variables moves towards theta_c."""
    cheap, expensive = pair_of(problem)
    before, report = snapshot.theta[expensive], models.reports[cheap]
    is_due = is_transfer_step(snapshot.step, problem.ratios[cheap])
    if not is_due or before is None or report is None:
        return models
    shared = shared_variables(models.X, models.F[:, [cheap, expensive]], rng)
    weight = variance_weight(snapshot.settled, snapshot.budget)
    theta = blend(before, np.array(report.theta), shared, weight)
    # beta and sigma^2 are estimated for this theta
    model = Kriging(theta0=theta, optimize=False).fit(models.X, models.F[:, expensive])
    return with_model(models, expensive, model)


def blend(expensive: Floats, cheap: Floats, shared: Bools, weight: float) -> Floats:
    """theta_e[S] = a theta_e[S] + (1 - a) theta_c[S], (d,)."""
    mixed = weight * expensive + (1.0 - weight) * cheap
    return np.where(shared, mixed, expensive)


T_SAEA = Strategy(
    step=t_saea_step, refusal=needs_a_pair, train=one_member, penalty=no_penalty
)
