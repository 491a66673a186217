"""Prandtl's lifting line of an unswept, untwisted wing, by Glauert's Fourier series.

y = -(b/2) cos θ · circulation Γ = 2 b V Σ A_n sin nθ, n odd by symmetry · thin
sections: lift slope 2π

The series holds at every θ:  Σ A_n sin nθ (sin θ + n μ) = μ α sin θ,  μ = π c / (2 b).
All that is needed follows from the shape a_n = A_n / A_1 and the lift L: induced drag
L² (1 + Σ_{n>1} n a_n²) / (π q b²),  lift per length 4 L / (π b) Σ a_n sin nθ. An
elliptic chord has a_n = 0 for n > 1, and no wing of the same span has less drag.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TERMS = 100


def shape(span: float, chord: Callable[[Array], Array], terms: int = TERMS) -> Array:
    """a_1 = 1, a_3, a_5 … of a wing whose chord at y in [0, b/2] is `chord(y)`,
    collocated at as many angles.
    """
    n = np.arange(1, 2 * terms, 2)  # (terms,)
    # (terms,): the tip left out, the root included
    theta = np.arange(1, terms + 1) * np.pi / (2 * terms)
    mu = np.pi * chord(span / 2.0 * np.cos(theta)) / (2.0 * span)
    sines = np.sin(np.outer(theta, n))  # (terms, terms)
    A = np.linalg.solve(
        sines * (np.sin(theta)[:, None] + mu[:, None] * n), mu * np.sin(theta)
    )
    return np.asarray(A / A[0])


def induced_drag(a: Array, lift: float, span: float, dynamic_pressure: float) -> float:
    n = np.arange(1, 2 * len(a), 2)
    return float(lift**2 * np.sum(n * a**2) / (np.pi * dynamic_pressure * span**2))


def lift_per_length(a: Array, lift: float, span: float, y: Array) -> Array:
    """At distances y from the root, N/m."""
    theta = np.arccos(np.clip(2.0 * y / span, 0.0, 1.0))
    n = np.arange(1, 2 * len(a), 2)
    return np.asarray(
        4.0 * lift / (np.pi * span) * np.sum(a * np.sin(theta[..., None] * n), axis=-1)
    )
