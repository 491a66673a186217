"""Drag in level flight: induced drag of the lifting line, and friction of turbulent
plates.
"""

from collections.abc import Mapping

import numpy as np

from workers.wing.geometry import (
    AIR_DENSITY,
    AIR_VISCOSITY,
    DYNAMIC_PRESSURE,
    ROOT_CHORD,
    SPEED,
    Wing,
)
from workers.wing.lifting_line import Array, induced_drag, shape
from workers.wing.mass import weight

STRIPS = 32


def drag(x: Mapping[str, float]) -> float:
    """N."""
    wing = Wing.of(x)
    induced = induced_drag(lift_shape(wing), weight(x), wing.span, DYNAMIC_PRESSURE)
    return induced + friction_drag(wing)


def lift_shape(wing: Wing) -> Array:
    return shape(wing.span, lambda y: chord(wing, y))


def chord(wing: Wing, y: Array) -> Array:
    return ROOT_CHORD * (1.0 - (1.0 - wing.taper) * y / wing.half)


def friction_drag(wing: Wing) -> float:
    """Of both sides, N: c_f of Prandtl and Schlichting, form factor of Hoerner, Gauss
    points along the span.
    """
    points, weights = np.polynomial.legendre.leggauss(STRIPS)
    y = wing.half * (points + 1.0) / 2.0
    c = chord(wing, y)
    reynolds = AIR_DENSITY * SPEED * c / AIR_VISCOSITY
    friction = 0.455 / np.log10(reynolds) ** 2.58
    drag_per_length = (
        2.0 * friction * form_factor(wing.thickness_ratio) * c * DYNAMIC_PRESSURE
    )
    of_one_half = np.sum(weights * drag_per_length) * wing.half / 2.0
    return float(2.0 * of_one_half)


def form_factor(thickness_ratio: float) -> float:
    """The ratio of a section's drag to that of a plate with the same chord."""
    return 1.0 + 2.0 * thickness_ratio + 60.0 * thickness_ratio**4
