"""The search for the hyperparameters of a model: L-BFGS-B on log theta.

theta (d,) coefficients of standardised inputs · n training rows
"""

import numpy as np
from scipy.optimize import minimize

from app.optimizer.arrays import Floats
from app.optimizer.models.likelihood import Evaluation, Likelihood

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


def cold_start(d: int) -> Floats:
    # Differs from a start at 0.5 for every d: from d = 30 on, no two points correlate
    # there and the gradient is 0.
    return np.full(d, min(START, 5.0 / d))


def maximise(likelihood: Likelihood, given: Floats | None) -> Floats:
    """The theta of the largest likelihood found from a given theta, or from a cold
    start.
    """
    n, d = likelihood.X.shape
    if given is not None:
        x = np.log(np.clip(given, *BOUNDS))
        first = likelihood(x)
        without_correlation = -0.5 * n * (np.log(2.0 * np.pi) + 1.0)
        if -first[0] > without_correlation:
            return climb(likelihood, x, first, WARM_STEP)
    x = np.log(cold_start(d))
    return climb(likelihood, x, likelihood(x), COLD_STEP)


def climb(likelihood: Likelihood, x: Floats, first: Evaluation, step: float) -> Floats:
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
        bounds=[(low, high)] * len(x),
        options={"ftol": FTOL, "gtol": GTOL * scale},
    )
    theta: Floats = np.exp(optimum.x)
    return theta
