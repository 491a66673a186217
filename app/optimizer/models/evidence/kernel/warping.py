"""The warp u = 1 - (1 - x^a)^c of the unit interval onto itself (Kumaraswamy's
distribution function).

It keeps 0 and 1, and is the identity at a = c = 1.
"""

import numpy as np

from app.optimizer.arrays import Floats

# of x and of 1 - x^a, so that logarithms exist; both derivatives are 0 at the ends
SMALLEST = 1e-300


def warp(X: Floats, a: Floats, c: Floats) -> Floats:
    """u of every x; a and c broadcast against X."""
    return 1.0 - (1.0 - np.clip(X, 0.0, 1.0) ** a) ** c


def warp_derivatives(X: Floats, a: Floats, c: Floats) -> tuple[Floats, Floats]:
    """du / d ln a and du / d ln c."""
    x = np.clip(X, SMALLEST, 1.0)
    power = x**a
    rest = np.maximum(1.0 - power, SMALLEST)
    tail = rest**c  # (1 - x^a)^c = 1 - u
    by_log_a = c * (tail / rest) * power * a * np.log(x)
    by_log_c = -tail * c * np.log(rest)
    return np.where(rest > SMALLEST, by_log_a, 0.0), by_log_c
