"""Data as a model uses them: each point once, inputs and outputs with mean 0 and
standard deviation 1.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.optimizer.arrays import Bools, Floats, Ints
from app.optimizer.snapshot import SMALLEST

# Values that differ by less than this part of themselves count as one value
ROUNDING = 16 * np.finfo(float).eps


def merge_repeated(X: Floats, y: Floats) -> tuple[Floats, Floats, Ints]:
    """Distinct rows in order of appearance, their mean values, and the number of each
    given row among them.
    """
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = np.argsort(order)[group.ravel()]  # (n given,)
    sums = np.bincount(rows, weights=y)  # (n,)
    counts = np.bincount(rows)  # (n,)
    return X[first[order]], sums / counts, rows


def standardise(A: Floats) -> tuple[Floats, Floats, Floats]:
    """Columns with mean 0 and standard deviation 1, the means and the deviations;
    constant columns become 0.
    """
    constant = is_constant(A)
    mean = A.mean(axis=0)
    scale = np.where(constant, 1.0, A.std(axis=0))
    standardised = np.where(constant, 0.0, (A - mean) / scale)
    return np.asfortranarray(standardised), mean, scale


def standardise_in_groups(
    A: Floats, groups: Sequence[int] | None
) -> tuple[Floats, Floats, Floats]:
    """As `standardise`; columns of a group are divided by the same number, the root of
    their mean variance, so that all choices of a category are equally far apart.
    """
    standardised, mean, scale = standardise(A)
    if groups is None:
        return standardised, mean, scale
    numbers = np.asarray(groups)
    variances = A.var(axis=0)
    for number in np.unique(numbers):
        columns = np.flatnonzero(numbers == number)
        if len(columns) > 1:
            deviation = np.sqrt(variances[columns].mean())
            scale[columns] = deviation if deviation > 0.0 else 1.0
            centred = A[:, columns] - mean[columns]
            standardised[:, columns] = centred / scale[columns]
    return standardised, mean, scale


def is_constant(A: Floats) -> Bools:
    """Which columns differ by rounding only, or by too little to be squared; of one
    column (n,): whether it does.
    """
    largest = np.abs(A).max(axis=0)
    smallest_deviation = np.maximum(ROUNDING * largest, SMALLEST)
    return np.asarray(A.std(axis=0) <= smallest_deviation)


def standardise_theta(theta: npt.ArrayLike, x_scale: Floats) -> Floats:
    """From the coefficients of inputs as given to those of standardised inputs."""
    given = np.asarray(theta, dtype=np.float64)
    result = np.broadcast_to(given, x_scale.shape) * x_scale**2
    if not np.all((result > 0.0) & np.isfinite(result)):
        raise ValueError(
            f"theta0 must be positive and finite, one number for each input; it is {theta!r}"
        )
    return result
