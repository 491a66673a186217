"""Safety against lateral-torsional buckling, in which a thin arm evades sideways."""

import math
from collections.abc import Mapping
from typing import Any

from workers.beam.geometry import LENGTH, LOAD, Arm

# Of a cantilever under a load at its end (Timoshenko and Gere 1961, 6.3)
CANTILEVER = 4.013


def buckling(x: Mapping[str, Any]) -> float:
    """Critical load / load.

    The holes lower the stiffness as a slot of their mean height would.
    """
    arm = Arm.of(x)
    E = arm.material.young
    G = E / 2.0 / (1.0 + arm.material.poisson)
    height = arm.area / LENGTH  # what a plate without holes has
    lateral = height * arm.thickness**3 / 12.0  # second moment of area, m4
    torsion = height * arm.thickness**3 / 3.0  # torsion constant of a thin strip, m4
    critical = CANTILEVER * math.sqrt(E * lateral * G * torsion) / LENGTH**2
    return critical / LOAD
