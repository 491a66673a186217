"""Smooth engineering functions by which models are compared in the literature
(Surjanovic and Bingham, Virtual Library of Simulation Experiments).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class SmoothFunction:
    ranges: tuple[tuple[float, float], ...]  # of each variable
    formula: Callable[[Floats], Floats]  # of variables in natural units, (d, n)

    @property
    def d(self) -> int:
        return len(self.ranges)

    def __call__(self, X: Floats) -> Floats:
        """Values at rows X (n, d) of the unit cube, (n,)."""
        low, high = np.array(self.ranges).T
        return self.formula((low + X * (high - low)).T)


def borehole(v: Floats) -> Floats:
    rw, r, Tu, Hu, Tl, Hl, L, Kw = v
    log_ratio = np.log(r / rw)
    resistance = 1.0 + 2.0 * L * Tu / (log_ratio * rw**2 * Kw) + Tu / Tl
    return np.asarray(2.0 * np.pi * Tu * (Hu - Hl) / (log_ratio * resistance))


def otl_circuit(v: Floats) -> Floats:
    Rb1, Rb2, Rf, Rc1, Rc2, beta = v
    Vb1 = 12.0 * Rb2 / (Rb1 + Rb2)
    gain = beta * (Rc2 + 9.0)
    total = gain + Rf
    return np.asarray(
        (Vb1 + 0.74) * gain / total
        + 11.35 * Rf / total
        + 0.74 * Rf * gain / (total * Rc1)
    )


def piston(v: Floats) -> Floats:
    M, S, V0, k, P0, Ta, T0 = v
    A = P0 * S + 19.62 * M - k * V0 / S
    V = S / (2.0 * k) * (np.sqrt(A**2 + 4.0 * k * P0 * V0 / T0 * Ta) - A)
    stiffness = k + S**2 * P0 * V0 / T0 * Ta / V**2
    return np.asarray(2.0 * np.pi * np.sqrt(M / stiffness))


def robot_arm(v: Floats) -> Floats:
    angles, lengths = np.cumsum(v[:4], axis=0), v[4:]
    u = (lengths * np.cos(angles)).sum(axis=0)
    w = (lengths * np.sin(angles)).sum(axis=0)
    return np.asarray(np.hypot(u, w))


def wing_weight(v: Floats) -> Floats:
    Sw, Wfw, A, sweep, q, taper, tc, Nz, Wdg, Wp = v
    cos = np.cos(np.deg2rad(sweep))
    structure = 0.036 * Sw**0.758 * Wfw**0.0035 * (A / cos**2) ** 0.6 * q**0.006
    shape = taper**0.04 * (100.0 * tc / cos) ** -0.3 * (Nz * Wdg) ** 0.49
    return np.asarray(structure * shape + Sw * Wp)


ANGLE = (0.0, 2.0 * np.pi)
SMOOTH_FUNCTIONS = {
    "borehole": SmoothFunction(
        (
            (0.05, 0.15), (100.0, 50_000.0), (63_070.0, 115_600.0), (990.0, 1110.0),
            (63.1, 116.0), (700.0, 820.0), (1120.0, 1680.0), (9855.0, 12_045.0),
        ),
        borehole,
    ),
    "otl-circuit": SmoothFunction(
        (
            (50.0, 150.0), (25.0, 70.0), (0.5, 3.0),
            (1.2, 2.5), (0.25, 1.2), (50.0, 300.0),
        ),
        otl_circuit,
    ),
    "piston": SmoothFunction(
        (
            (30.0, 60.0), (0.005, 0.02), (0.002, 0.01), (1000.0, 5000.0),
            (90_000.0, 110_000.0), (290.0, 296.0), (340.0, 360.0),
        ),
        piston,
    ),
    "robot-arm": SmoothFunction((ANGLE,) * 4 + ((0.0, 1.0),) * 4, robot_arm),
    "wing-weight": SmoothFunction(
        (
            (150.0, 200.0), (220.0, 300.0), (6.0, 10.0), (-10.0, 10.0), (16.0, 45.0),
            (0.5, 1.0), (0.08, 0.18), (2.5, 6.0), (1700.0, 2500.0), (0.025, 0.08),
        ),
        wing_weight,
    ),
}  # fmt: skip
