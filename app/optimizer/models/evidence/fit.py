"""The fit of one structure to one data set.

Hyperparameters come from at most `MOST_TUNED` random rows by L-BFGS-B on the penalised
likelihood, the posterior from all rows.
"""

import contextlib
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.evidence.hyperparameters import (
    Hyperparameters,
    Prior,
    Structure,
    make_prior,
    number_of_groups,
    own_groups,
)
from app.optimizer.models.evidence.penalised_likelihood import (
    Evaluation,
    PenalisedLikelihood,
)
from app.optimizer.models.evidence.posterior import Posterior, condition, standardise

COLD_EVALUATIONS = 40
WARM_EVALUATIONS = 5
MOST_TUNED = 250  # rows that hyperparameters are fitted to
GUARD = 3.0  # how much larger than that of the fitted part sigma2 of all rows may be
GUARD_ETAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True, slots=True)
class Fit:
    """Where a search for hyperparameters ended."""

    p: Floats
    value: float
    sigma2: float  # of the standardised values that it is fitted to
    evaluations: int


class EvaluationLimit(Exception):
    """Ends L-BFGS-B in the middle of a line search."""


def fit(
    structure: Structure,
    X: Floats,
    y: Floats,
    rng: np.random.Generator,
    *,
    start: Hyperparameters | None = None,
    groups: Ints | None = None,
    eta: float | None = None,
    cold_evaluations: int = COLD_EVALUATIONS,
    warm_evaluations: int = WARM_EVALUATIONS,
    tune: bool = True,
) -> Posterior:
    """The model of the values y at rows X of the unit cube.

    `start`: the same structure's hyperparameters of an earlier step; the fit goes on
    from there. `groups` (d,): the number of each coordinate's group; coordinates of a
    group share their hyperparameters. `eta`: fixes the nugget. `tune=False`: the start
    is used as it is.
    """
    groups = own_groups(X.shape[1]) if groups is None else groups
    prior = make_prior(structure, number_of_groups(groups), eta)
    p = prior.start if start is None else _clip(start, structure, prior)
    t, _, _ = standardise(y)
    # No variation, no evidence
    if not t.any() or (start is not None and not tune):
        return condition(Hyperparameters(structure, tuple(p.tolist())), X, y, groups)
    rows = _tuned_rows(len(y), rng)
    likelihood = PenalisedLikelihood(structure, X[rows], t[rows], prior, groups)
    found = minimise(
        likelihood, p, cold_evaluations if start is None else warm_evaluations
    )
    hyperparameters = Hyperparameters(structure, tuple(found.p.tolist()))
    posterior = condition(hyperparameters, X, y, groups)
    if eta is None and len(rows) < len(y):
        posterior = _guard(posterior, found.sigma2, prior, groups)
    return replace(posterior, evaluations=found.evaluations)


def minimise(likelihood: PenalisedLikelihood, p: Floats, most: int) -> Fit:
    """The best point that L-BFGS-B sees in at most so many evaluations, from p on.

    The objective is divided by the largest component of its first gradient: the first
    step is as long as the gradient, and would lead from a steep start to the bounds.
    """
    prior = likelihood.prior
    value, gradient = likelihood(p)
    best = Fit(p.copy(), value, likelihood.sigma2, 1)
    factor = 1.0 / max(float(np.abs(gradient).max()), 1.0)
    first = (p.copy(), value, gradient)
    count = 1

    def scaled(at: Floats) -> Evaluation:
        nonlocal best, count
        if np.array_equal(at, first[0]):
            return factor * first[1], factor * first[2]
        if count >= most:
            raise EvaluationLimit
        count += 1
        value, gradient = likelihood(at)
        if value < best.value:
            best = Fit(at.copy(), value, likelihood.sigma2, count)
        return factor * value, factor * gradient

    bounds = list(zip(prior.low, prior.high, strict=True))
    with contextlib.suppress(EvaluationLimit):
        minimize(scaled, p, jac=True, method="L-BFGS-B", bounds=bounds)
    return replace(best, evaluations=count)


def _guard(
    posterior: Posterior, sigma2: float, prior: Prior, groups: Ints
) -> Posterior:
    """If the rows that were left out contradict the fit, the eta that is best for all
    rows.

    `sigma2`: that of the rows that were fitted.
    """
    t, _, y_scale = standardise(posterior.y)
    if posterior.sigma2 / y_scale**2 <= GUARD * sigma2:
        return posterior
    fitted = posterior.hyperparameters
    likelihood = PenalisedLikelihood(fitted.structure, posterior.X, t, prior, groups)
    candidates = [fitted, *(fitted.with_eta(eta) for eta in GUARD_ETAS)]
    values = [likelihood.value(np.array(candidate.values)) for candidate in candidates]
    return condition(
        candidates[int(np.argmin(values))], posterior.X, posterior.y, groups
    )


def _clip(start: Hyperparameters, structure: Structure, prior: Prior) -> Floats:
    values = np.array(start.values)
    if start.structure is not structure or values.shape != prior.mean.shape:
        raise ValueError(
            f"the start is one of {start.structure.value!r} with {len(values)} hyperparameters"
        )
    clipped: Floats = np.clip(values, prior.low, prior.high)
    return clipped


def _tuned_rows(n: int, rng: np.random.Generator) -> Ints:
    """All rows, or `MOST_TUNED` random ones in ascending order."""
    if n <= MOST_TUNED:
        return np.arange(n)
    return np.sort(rng.choice(n, MOST_TUNED, replace=False))
