"""Leave-one-out predictions in closed form (Dubrule 1983), with the mean estimated anew
for each row left out.

Notation:
    Q (n,)     diagonal of R^-1 - R^-1 1 1^T R^-1 / (1^T R^-1 1)
    y_i - mean_i = alpha_i / Q_i,  variance_i = sigma2 / Q_i   (hyperparameters and sigma2 are those of all rows)
"""

from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """Of each training row, predicted from all others; NaN for a single row."""

    mean: Floats  # (n,)
    variance: Floats  # (n,)
    log_density: Floats  # (n,)


def leave_one_out(
    L_inverse: Floats, w: Floats, alpha: Floats, sigma2: float, y: Floats
) -> LeaveOneOut:
    """`L_inverse` has zeros above its diagonal."""
    by_row = w @ L_inverse  # (n,) R^-1 1
    Q = np.einsum("ij,ij->j", L_inverse, L_inverse) - by_row**2 / (w @ w)
    if len(Q) == 1:
        Q = np.full(1, np.nan)
    residual = alpha / Q
    variance = sigma2 / Q
    return LeaveOneOut(y - residual, variance, log_normal(residual, variance))


def log_normal(residual: Floats, variance: Floats) -> Floats:
    """Logarithm of the normal density."""
    return -0.5 * (np.log(2.0 * np.pi * variance) + residual**2 / variance)
