"""The search for the hyperparameters of a model: L-BFGS-B on log theta.

theta (d,) coefficients of standardised inputs · n training rows
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging.likelihood import Evaluation, Likelihood

Objective = Callable[[Floats], Evaluation]  # of log theta

START = 0.5
BOUNDS = (1e-5, 100.0)
# The log-likelihood to about 0.01; a fifth fewer evaluations than by default
FTOL, GTOL = (
    1e-6,
    1e-2,
)
# First steps in log theta: of several between 0.03 and 4 the best by likelihood and
# number of evaluations.
COLD_STEP, WARM_STEP = 4.0, 0.03
# Of log eta, where noise is estimated: mean and deviation of its prior (log10: -6, 1),
# start and bounds of eta
ETA_MEAN, ETA_DEVIATION = -6.0 * np.log(10.0), np.log(10.0)
ETA_START, ETA_BOUNDS = 1e-3, (1e-8, 1.0)
ETA_GRID = np.geomspace(1e-8, 1.0, 17)


def cold_start(d: int) -> Floats:
    # Differs from a start at 0.5 for every d: from d = 30 on, no two points correlate
    # there and the gradient is 0.
    return np.full(d, min(START, 5.0 / d))


def maximise(
    likelihood: Likelihood, given: Floats | None, groups: Sequence[int] | None = None
) -> Floats:
    """The theta of the largest likelihood found from a given theta, or from a cold
    start; equal inside each group.
    """
    d = likelihood.X.shape[1]
    if groups is None:
        return _maximise(likelihood, len(likelihood.X), given, cold_start(d))
    _, first, numbers = np.unique(groups, return_index=True, return_inverse=True)

    def tied(log_theta: Floats) -> Evaluation:
        """As a function of one number per group, (g,)."""
        value, gradient = likelihood(log_theta[numbers])
        sums: Floats = np.bincount(numbers, weights=gradient)  # type: ignore[assignment]
        return value, sums

    own = None if given is None else given[first]
    start = cold_start(d)[first]
    return _maximise(tied, len(likelihood.X), own, start)[numbers]


def maximise_with_noise(
    likelihood: Likelihood, given: Floats | None, groups: Sequence[int] | None = None
) -> Floats:
    """As `maximise`, for theta and the likelihood's own eta, which is left at the best
    value found.
    """
    d = likelihood.X.shape[1]
    start = cold_start(d) if given is None else np.clip(given, *BOUNDS)
    own = np.arange(d) if groups is None else np.asarray(groups)
    _, first, numbers = np.unique(own, return_index=True, return_inverse=True)

    def penalised(p: Floats) -> Evaluation:
        """Of log theta of each group, then log eta, (g + 1,)."""
        likelihood.eta = float(np.exp(p[-1]))
        value, gradient = likelihood(p[:-1][numbers])
        sums = np.bincount(numbers, weights=gradient)
        distance = (p[-1] - ETA_MEAN) / ETA_DEVIATION
        slope = likelihood.eta_slope + distance / ETA_DEVIATION
        return value + 0.5 * distance**2, np.append(sums, slope)

    x = np.append(np.log(start[first]), np.log(ETA_START))
    bounds = [tuple(np.log(BOUNDS))] * len(first) + [tuple(np.log(ETA_BOUNDS))]
    found = np.log(climb(penalised, x, penalised(x), COLD_STEP, bounds))
    likelihood.eta = float(np.exp(found[-1]))
    return np.asarray(np.exp(found[:-1])[numbers])


def best_noise(likelihood: Likelihood, theta: Floats) -> float:
    """Of a few values of eta the best for a given theta, by penalised likelihood."""
    values = []
    for eta in ETA_GRID:
        likelihood.eta = float(eta)
        distance = (np.log(eta) - ETA_MEAN) / ETA_DEVIATION
        log_likelihood = likelihood.factorise(theta).log_likelihood
        values.append(log_likelihood - 0.5 * distance**2)
    return float(ETA_GRID[int(np.argmax(values))])


def _maximise(
    likelihood: Objective, n: int, given: Floats | None, cold: Floats
) -> Floats:
    if given is not None:
        x = np.log(np.clip(given, *BOUNDS))
        first = likelihood(x)
        without_correlation = -0.5 * n * (np.log(2.0 * np.pi) + 1.0)
        if -first[0] > without_correlation:
            return climb(likelihood, x, first, WARM_STEP)
    x = np.log(cold)
    return climb(likelihood, x, likelihood(x), COLD_STEP)


def climb(
    likelihood: Objective,
    x: Floats,
    first: Evaluation,
    step: float,
    bounds: Sequence[tuple[float, float]] | None = None,
) -> Floats:
    """Start at log theta = x, where the evaluation is known; the steepest component
    moves by `step` at first.

    With bounds on every side L-BFGS-B begins with a step as long as the gradient. At n
    >= 300 this went from 0.5 past the optimum to 1e-5, a trend with noise, in about
    half of the cases (on DTLZ2, n = 545, to 185 instead of 604).
    """
    steepest = np.abs(first[1]).max()
    if steepest <= GTOL:
        return np.exp(x)
    scale = step / steepest

    def scaled(log_theta: Floats) -> Evaluation:
        value, gradient = (
            first if np.array_equal(log_theta, x) else likelihood(log_theta)
        )
        return scale * value, scale * gradient

    low, high = np.log(BOUNDS[0]), np.log(BOUNDS[1])
    optimum = minimize(
        scaled,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, high)] * len(x) if bounds is None else list(bounds),
        options={"ftol": FTOL, "gtol": GTOL * scale},
    )
    theta: Floats = np.exp(optimum.x)
    return theta
