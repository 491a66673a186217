"""The perforated arm: closed formulas by hand, finite elements beside beam theory."""

import math
from typing import Any

import numpy as np
import pytest

from counterpoise.wire.specification import parse_specification
from workers.beam.buckling import buckling
from workers.beam.cost import cost
from workers.beam.deflection import deflection
from workers.beam.geometry import LENGTH, LOAD, Arm
from workers.beam.mass import mass
from workers.beam.mesh import mesh_of
from workers.demo import problems

STEEL: dict[str, Any] = {
    "height": 0.1,
    "radius": 0.03,
    "holes": 4,
    "thickness": 0.01,
    "material": "steel",
}


def test_mass_and_cost_by_hand() -> None:
    area = 1.0 * 0.1 - 4 * math.pi * 0.03**2
    assert mass(STEEL) == pytest.approx(7850.0 * 0.01 * area)
    # 7.85 kg of sheet at 1.40 EUR; 2.2 m around it and four holes, 10 mm thick
    edges = 2.2 + 4 * 2 * math.pi * 0.03
    assert cost(STEEL) == pytest.approx(1.4 * 7.85 + 0.20 * 10.0 * edges)


def test_buckling_of_a_strip_by_hand() -> None:
    strip = {**STEEL, "radius": 0.0}
    E, G = 210e9, 210e9 / 2.6
    inertia, torsion = 0.1 * 0.01**3 / 12.0, 0.1 * 0.01**3 / 3.0
    critical = 4.013 * math.sqrt(E * inertia * G * torsion)
    assert buckling(strip) == pytest.approx(critical / LOAD)
    # Both stiffnesses grow with the third power of the thickness
    assert buckling({**strip, "thickness": 0.02}) == pytest.approx(
        8.0 * buckling(strip)
    )


def test_without_holes_the_arm_bends_as_beam_theory_says() -> None:
    found = deflection({**STEEL, "radius": 0.0005})
    inertia = 0.01 * 0.1**3 / 12.0
    bending = LOAD * LENGTH**3 / (3.0 * 210e9 * inertia)
    shear = 1.2 * LOAD * LENGTH / (210e9 / 2.6 * 0.1 * 0.01)
    assert found["deflection"] == pytest.approx(bending + shear, rel=0.01)
    stress = LOAD * 0.95 * 0.05 / inertia  # where the clamp's own stresses have ended
    assert found["safety"] == pytest.approx(355e6 / stress, rel=0.07)


def test_holes_make_an_arm_softer_and_weaker() -> None:
    plain, holed = deflection({**STEEL, "radius": 0.0005}), deflection(STEEL)
    assert holed["deflection"] > 1.05 * plain["deflection"]
    assert holed["safety"] < plain["safety"]


def test_the_mesh_has_the_area_of_the_arm() -> None:
    arm = Arm.of(STEEL)
    mesh = mesh_of(arm)
    x, y = mesh.p[:, mesh.t]
    # The corners of a quadrilateral: the shoelace formula
    after = np.roll(np.arange(4), -1)
    areas = 0.5 * np.abs((x * y[after] - x[after] * y).sum(axis=0))
    assert areas.sum() == pytest.approx(arm.area, rel=0.01)


def test_the_study_is_valid_and_every_run_has_a_simulator() -> None:
    chosen = problems.problem("beam", 3, (), None, 1)
    parse_specification(chosen.study)
    assert set(chosen.functions) == {"mass", "cost", "deflection", "buckling"}
    assert chosen.constraints == ["buckling", "safety"]
    assert chosen.study["budget"] == 60
