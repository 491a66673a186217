"""The arm's mass as a closed formula."""

from collections.abc import Mapping
from typing import Any

from workers.beam.geometry import Arm


def mass(x: Mapping[str, Any]) -> float:
    """kg"""
    arm = Arm.of(x)
    return arm.material.density * arm.thickness * arm.area
