"""The geometry of a wing, which has four variables, and the constants of all wings."""

from collections.abc import Mapping
from dataclasses import dataclass

ROOT_CHORD = 0.4  # m
BOX_WIDTH = 0.45  # of the chord
BOX_DEPTH = 0.9  # of the section's greatest thickness
FUSELAGE_MASS = 20.0  # kg: everything except the wing
GRAVITY = 9.81  # m/s2
SPEED = 25.0  # m/s: cruise at sea level
AIR_DENSITY = 1.225  # kg/m3
AIR_VISCOSITY = 1.81e-5  # Pa s
DYNAMIC_PRESSURE = AIR_DENSITY * SPEED**2 / 2.0  # Pa
LIMIT_LOAD_FACTOR = 3.8


@dataclass(frozen=True, slots=True)
class Wing:
    span: float  # m, from tip to tip
    taper: float  # tip chord / root chord
    thickness_ratio: float  # of the section, thickness / chord
    skin_thickness: float  # m, of all four walls of the box

    @classmethod
    def of(cls, x: Mapping[str, float]) -> "Wing":
        return cls(x["span"], x["taper"], x["thickness_ratio"], x["skin_thickness"])

    @property
    def half(self) -> float:
        return self.span / 2.0

    @property
    def area(self) -> float:
        """Planform, both halves, m2."""
        return self.span * ROOT_CHORD * (1.0 + self.taper) / 2.0

    @property
    def tip_chord(self) -> float:
        return ROOT_CHORD * self.taper

    def box(self, chord: float) -> tuple[float, float]:
        """Outer width and depth of the box at a section with this chord, m."""
        return BOX_WIDTH * chord, BOX_DEPTH * self.thickness_ratio * chord
