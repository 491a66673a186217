"""A small wing in closed form: what the demo evaluates."""

from collections.abc import Callable, Mapping
from math import pi

Point = Mapping[str, float | int]
BOUNDS = {"span": (1.5, 4.0), "chord": (0.15, 0.45), "skin": (0.0005, 0.004)}  # m
DENSITY, STIFFNESS = 1600.0, 60e9  # carbon laminate, kg/m3 and Pa
LIFT, DYNAMIC_PRESSURE = 250.0, 250.0  # N and Pa: about 20 m/s
THICKNESS = 0.12  # of the chord


def mass(x: Point) -> float:
    """Both skins, kg."""
    return 2.0 * x["span"] * x["chord"] * x["skin"] * DENSITY


def drag(x: Point) -> float:
    """Friction plus the drag induced by an elliptic lift, N."""
    area = x["span"] * x["chord"]
    lift_coefficient = LIFT / (DYNAMIC_PRESSURE * area)
    induced = lift_coefficient**2 / (pi * x["span"] / x["chord"])
    return DYNAMIC_PRESSURE * area * (0.012 + induced)


def deflection(x: Point) -> float:
    """Tip of a cantilever of two skins under even load, m."""
    half, height = x["span"] / 2.0, THICKNESS * x["chord"]
    second_moment = 2.0 * x["chord"] * x["skin"] * (height / 2.0) ** 2
    return (LIFT / 2.0 / half) * half**4 / (8.0 * STIFFNESS * second_moment)


OBJECTIVES: dict[str, Callable[[Point], float]] = {"mass": mass, "drag": drag, "deflection": deflection}
UNITS = {"span": "m", "chord": "m", "skin": "m", "mass": "kg", "drag": "N", "deflection": "m"}
