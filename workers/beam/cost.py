"""What an arm costs: its sheet, the holes' waste included, and the cutting."""

from collections.abc import Mapping
from typing import Any

from workers.beam.geometry import LENGTH, Arm

MILLIMETRE = 1e-3


def cost(x: Mapping[str, Any]) -> float:
    """EUR"""
    arm = Arm.of(x)
    sheet = arm.material.density * LENGTH * arm.height * arm.thickness  # kg
    cuts = arm.edges * arm.thickness / MILLIMETRE
    return arm.material.price * sheet + arm.material.cut * cuts
