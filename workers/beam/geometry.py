"""The geometry of an arm, which has five variables, and the constants of all arms."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LENGTH = 1.0  # m, from the clamp to the load
LOAD = 2500.0  # N, downwards at the end


@dataclass(frozen=True, slots=True)
class Material:
    young: float  # Pa
    poisson: float
    density: float  # kg/m3
    strength: float  # Pa: where it yields
    price: float  # EUR/kg, as a sheet
    cut: float  # EUR per metre of cut through a sheet of 1 mm


MATERIALS = {
    "aluminium": Material(71e9, 0.33, 2810.0, 430e6, 9.0, 0.25),  # 7075-T6
    "steel": Material(210e9, 0.30, 7850.0, 355e6, 1.4, 0.20),  # S355
    "titanium": Material(114e9, 0.34, 4430.0, 830e6, 45.0, 0.60),  # Ti-6Al-4V
}


@dataclass(frozen=True, slots=True)
class Arm:
    height: float  # m
    radius: float  # m, of the holes
    holes: int  # in the middles of as many equal parts of the length
    thickness: float  # m, of the sheet
    material: Material

    @classmethod
    def of(cls, x: Mapping[str, Any]) -> "Arm":
        return cls(
            height=x["height"],
            radius=x["radius"],
            holes=int(x["holes"]),
            thickness=x["thickness"],
            material=MATERIALS[x["material"]],
        )

    @property
    def area(self) -> float:
        """What is left of the sheet, m2."""
        return LENGTH * self.height - self.holes * math.pi * self.radius**2

    @property
    def edges(self) -> float:
        """Length of all cuts, m."""
        outline = 2.0 * (LENGTH + self.height)
        return outline + self.holes * 2.0 * math.pi * self.radius
