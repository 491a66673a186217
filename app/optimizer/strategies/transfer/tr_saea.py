"""`tr-saea`: new points take over what the search of the cheap objective found; two
models of the expensive one label them for each other ([Tr-SAEA], Wang et al. 2021).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from scipy.optimize import Bounds, minimize

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.evidence.fit import fit
from app.optimizer.models.evidence.hyperparameters import Structure
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.model_report import report_on
from app.optimizer.models.predictor import Predictor
from app.optimizer.models.step_models import Models
from app.optimizer.models.surrogate import Surrogate
from app.optimizer.problem import Problem
from app.optimizer.proposal.acquisition import no_penalty
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import snap
from app.optimizer.strategies.strategy import Resources, Strategy
from app.optimizer.strategies.transfer.domain_adaptation import (
    coral,
    transfer_components,
)
from app.optimizer.strategies.transfer.pair import (
    needs_a_pair,
    newest_extras,
    one_member,
    pair_of,
    transfer_step,
)

MOST_ROWS = 500  # full samples that models learn from
MOST_LABELS = 15  # that a model gives the other
DIFFERENCE = 1e-6  # of numerical derivatives
EQUAL = 0.5  # weight of each of the two models


def tr_saea_step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    resources: Resources,
) -> Proposal:
    return transfer_step(problem, snapshot, strategy, rng, resources, co_train)


def co_train(
    problem: Problem, snapshot: Snapshot, models: Models, rng: Generator
) -> Models:
    """The expensive objective with two models, each taught by the other at points that
    the extras of the step before led to.
    """
    cheap, expensive = pair_of(problem)
    extras = newest_extras(snapshot, cheap)
    plain = models.surrogates[expensive].model
    if not isinstance(plain, Kriging) or not len(extras):
        return models
    data = Data(models.X, models.F[:, expensive])
    X = transferred_points(problem, models, extras.y, plain, rng)
    # Differs from [Tr-SAEA]: the second kernel is a product of Matern 5/2 kernels, one
    # for each variable, not one of the distance.
    other = fit(Structure.MATERN, data.X, data.y, rng)
    first, second = teach_each_other(plain, other, data, X, rng)
    surrogates, reports = list(models.surrogates), list(models.reports)
    surrogates[expensive] = Surrogate(first, second, weight=EQUAL)
    reports[expensive] = report_on(first, None)
    return replace(models, surrogates=tuple(surrogates), reports=tuple(reports))


def transferred_points(
    problem: Problem, models: Models, source: Floats, model: Predictor, rng: Generator
) -> Floats:
    """For each value of the cheap objective a point where the expensive one is
    predicted to have the same components; (n, D).
    """
    cheap, expensive = pair_of(problem)
    # Differs from [Tr-SAEA]: it adds 1 to covariances of raw values, which depends on
    # units; here both objectives are mapped by their ranges first.
    low = models.low
    spread = np.where(models.spread > 0.0, models.spread, 1.0)
    target = (models.F[:, expensive] - low[expensive]) / spread[expensive]
    aligned = coral((source - low[cheap]) / spread[cheap], target)
    components = transfer_components(aligned, target)

    def predicted(X: Floats) -> Floats:
        return components((model.mean(X) - low[expensive]) / spread[expensive])

    wanted = components(aligned)  # (n, k)
    starts = rng.random((len(aligned), problem.width))
    found = [
        nearest_point(predicted, row, start)
        for row, start in zip(wanted, starts, strict=True)
    ]
    return snap(problem.variables, np.array(found))


def nearest_point(
    predicted: Callable[[Floats], Floats], wanted: Floats, start: Floats
) -> Floats:
    """Where |predicted(x) - wanted|^2 is least in the unit cube, from the start on."""
    steps = DIFFERENCE * np.eye(len(start))

    def distance(x: Floats) -> tuple[float, Floats]:
        rows = np.vstack([x, x + steps])
        squares = ((predicted(rows) - wanted) ** 2).sum(axis=1)
        return float(squares[0]), (squares[1:] - squares[0]) / DIFFERENCE

    found = minimize(
        distance, start, jac=True, method="L-BFGS-B", bounds=Bounds(0.0, 1.0)
    )
    return np.asarray(np.clip(found.x, 0.0, 1.0))


def teach_each_other(
    first: Kriging, second: Posterior, data: Data, X: Floats, rng: Generator
) -> tuple[Kriging, Posterior]:
    """Each model with the labels of which the other one is surest; hyperparameters stay
    those of true values.
    """
    taught = _with_labels(data, second, X)
    plain = Kriging(theta0=first.theta_, optimize=False).fit(taught.X, taught.y)
    taught = _with_labels(data, first, X)
    start = second.hyperparameters
    other = fit(Structure.MATERN, taught.X, taught.y, rng, start=start, tune=False)
    return plain, other


def _with_labels(data: Data, teacher: Predictor, X: Floats) -> Data:
    mean, std = teacher.mean_and_std(X)
    rows = surest(std)
    return Data(np.vstack([data.X, X[rows]]), np.append(data.y, mean[rows]))


def surest(std: Floats) -> Ints:
    """Rows of the smallest deviations, at most 15."""
    return np.argsort(std, kind="stable")[:MOST_LABELS]


TR_SAEA = Strategy(
    step=tr_saea_step,
    refusal=needs_a_pair,
    train=one_member,
    penalty=no_penalty,
    size=MOST_ROWS,
)
