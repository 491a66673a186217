"""Engineering problems of the RE suite on the unit cube, minimised, vectorised over
points (Tanabe and Ishibuchi, "An easy-to-use real-world multi-objective optimization
problem suite", 2020).

Those here are continuous and have no constraints: where the original design problem had
some, the sum of their violations is the last objective.

The suite has no evaluation times. Objectives are cheap here where a formula would give
them in practice (masses, volumes, costs); for the rocket injector, whose objectives all
come from flow simulations, the last one is the expensive one, as in the paper's tables.

X (n, d) points in natural units · x (d, n) its columns · F (n, m) objectives
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
CHEAP = 5.0  # ratio of a cheap objective
SLOW = 1.0
# Coefficients by the variables that each term multiplies; (): the constant
Polynomial = Mapping[tuple[int, ...], float]


@dataclass(frozen=True, slots=True)
class EngineeringProblem:
    low: tuple[float, ...]
    high: tuple[float, ...]
    ratios: tuple[float, ...]  # of the objectives
    values: Callable[[Array], Array]  # X (n, d) in natural units -> F (n, m)

    @property
    def d(self) -> int:
        return len(self.low)

    @property
    def m(self) -> int:
        return len(self.ratios)

    def evaluate(self, X: Array, _m: int = 0) -> Array:
        """X (n, d) in the unit cube -> F (n, m)."""
        low, high = np.array(self.low), np.array(self.high)
        return self.values(low + X * (high - low))


def polynomial(terms: Polynomial, X: Array) -> Array:
    """Its values at X (n, d): (n,)."""
    total = np.zeros(len(X))
    for variables, coefficient in terms.items():
        total += coefficient * X[:, list(variables)].prod(axis=1)
    return total


def violation(*margins: Array) -> Array:
    """The sum of what is missing: a constraint is kept where its margin is not
    negative.
    """
    missing = [np.maximum(-margin, 0.0) for margin in margins]
    return np.asarray(np.sum(missing, axis=0))


def four_bar_truss(X: Array) -> Array:
    """Volume, and displacement of a joint, by the areas of four bars."""
    force, modulus, length = 10.0, 2e5, 200.0
    a, b, c, e = X.T
    root = np.sqrt(2.0)
    volume = length * (2.0 * a + root * b + np.sqrt(c) + e)
    compliance = 2.0 / a + 2.0 * root / b - 2.0 * root / c + 2.0 / e
    return np.column_stack([volume, force * length / modulus * compliance])


MASS: Polynomial = {
    (): 1640.2823, (0,): 2.3573285, (1,): 2.3220035, (2,): 4.5688768, (3,): 7.7213633,
    (4,): 4.4559504,
}  # fmt: skip
ACCELERATION: Polynomial = {
    (): 6.5856, (0,): 1.15, (1,): -1.0427, (2,): 0.9738, (3,): 0.8364,
    (0, 3): -0.3695, (0, 4): 0.0861, (1, 3): 0.3628,
    (0, 0): -0.1106, (2, 2): -0.3437, (3, 3): 0.1764,
}  # fmt: skip
INTRUSION: Polynomial = {
    (): -0.0551, (0,): 0.0181, (1,): 0.1024, (2,): 0.0421,
    (0, 1): -0.0073, (1, 2): 0.024, (1, 3): -0.0118, (2, 3): -0.0204, (2, 4): -0.008,
    (1, 1): -0.0241, (3, 3): 0.0109,
}  # fmt: skip


def vehicle_crash(X: Array) -> Array:
    """Mass, acceleration in a full frontal crash, intrusion of the toe board in an
    offset crash, by the thicknesses of five parts of the front.
    """
    responses = (MASS, ACCELERATION, INTRUSION)
    return np.column_stack([polynomial(terms, X) for terms in responses])


# Variables: hydrogen flow angle, changes of the hydrogen and oxygen areas, thickness of
# the oxidiser post tip
FACE_TEMPERATURE: Polynomial = {
    (): 0.692, (0,): 0.477, (1,): -0.687, (2,): -0.080, (3,): -0.0650,
    (0, 0): -0.167, (0, 1): -0.0129, (1, 1): 0.0796, (0, 2): -0.0634, (1, 2): -0.0257,
    (2, 2): 0.0877, (0, 3): -0.0521, (1, 3): 0.00156, (2, 3): 0.00198, (3, 3): 0.0184,
}  # fmt: skip
COMBUSTION_LENGTH: Polynomial = {
    (): 0.153, (0,): -0.322, (1,): 0.396, (2,): 0.424, (3,): 0.0226,
    (0, 0): 0.175, (0, 1): 0.0185, (1, 1): -0.0701, (0, 2): -0.251, (1, 2): 0.179,
    (2, 2): 0.0150, (0, 3): 0.0134, (1, 3): 0.0296, (2, 3): 0.0752, (3, 3): 0.0192,
}  # fmt: skip
TIP_TEMPERATURE: Polynomial = {
    (): 0.370, (0,): -0.205, (1,): 0.0307, (2,): 0.108, (3,): 1.019,
    (0, 0): -0.135, (0, 1): 0.0141, (1, 1): 0.0998, (0, 2): 0.208, (1, 2): -0.0301,
    (2, 2): -0.226, (0, 3): 0.353, (2, 3): -0.0497, (3, 3): -0.423,
    (0, 0, 1): 0.202, (0, 0, 2): -0.281, (0, 1, 1): -0.342, (1, 1, 2): -0.245,
    (1, 2, 2): 0.281, (0, 3, 3): -0.184, (0, 1, 2): -0.281,
}  # fmt: skip


def rocket_injector(X: Array) -> Array:
    """Highest temperature of the face, length of the combustion, highest temperature
    of the post tip; all scaled.
    """
    responses = (FACE_TEMPERATURE, COMBUSTION_LENGTH, TIP_TEMPERATURE)
    return np.column_stack([polynomial(terms, X) for terms in responses])


WEIGHT: Polynomial = {
    (): 1.98, (0,): 4.9, (1,): 6.67, (2,): 6.98, (3,): 4.01, (4,): 1.78, (5,): 1e-5,
    (6,): 2.73,
}  # fmt: skip
PUBIC_FORCE: Polynomial = {(): 4.72, (3,): -0.5, (1, 2): -0.19}
PILLAR_VELOCITY: Polynomial = {(): 10.58, (0, 1): -0.674, (1,): -0.67275}
DOOR_VELOCITY: Polynomial = {(): 16.45, (2, 6): -0.489, (4, 5): -0.843}
# Each with its upper limit
SIDE_IMPACT_LIMITS: tuple[tuple[float, Polynomial], ...] = (
    (1.0, {(): 1.16, (1, 3): -0.3717, (2,): -0.0092928}),
    (0.32, {
        (): 0.261, (0, 1): -0.0159, (0,): -0.06486, (1, 6): -0.019, (2, 4): 0.0144,
        (5,): 0.0154464,
    }),
    (0.32, {
        (): 0.214, (4,): 0.00817, (0,): -0.045195 - 0.0135168, (1, 5): 0.03099,
        (1, 6): -0.018, (2,): 0.007176 + 0.023232, (4, 5): -0.00364, (1, 1): -0.018,
    }),
    (0.32, {(): 0.74, (1,): -0.61, (2,): -0.031296, (6,): -0.031872, (1, 1): 0.227}),
    (32.0, {(): 28.98, (2,): 3.818, (0, 1): -4.2, (5,): 1.27296, (6,): -2.68065}),
    (32.0, {
        (): 33.86 + 1.45728, (2,): 2.95, (0, 1): -5.057, (1,): -3.795, (6,): -3.4431,
    }),
    (32.0, {(): 46.36, (1,): -9.9, (0,): -4.4505}),
    (4.0, PUBIC_FORCE),
    (9.9, PILLAR_VELOCITY),
    (15.7, DOOR_VELOCITY),
)  # fmt: skip


def car_side_impact(X: Array) -> Array:
    """Weight, force on the pubic bone, mean velocity of pillar and door, violation of
    ten limits, by the thicknesses of seven parts.
    """
    velocities = polynomial(PILLAR_VELOCITY, X) + polynomial(DOOR_VELOCITY, X)
    margins = [limit - polynomial(terms, X) for limit, terms in SIDE_IMPACT_LIMITS]
    return np.column_stack(
        [
            polynomial(WEIGHT, X),
            polynomial(PUBIC_FORCE, X),
            0.5 * velocities,
            violation(*margins),
        ]
    )


def water_resources(X: Array) -> Array:
    """Costs of the drainage network, of storage and of treatment, expected flood
    damage, expected economic loss, violation of seven limits; by the capacity of local
    storage and the largest rates of treatment and overflow.
    """
    storage, treatment, overflow = X.T
    area = 2289.0
    product = storage * treatment
    margins = (
        1.0 - (0.00139 / product + 4.94 * overflow - 0.08),
        1.0 - (0.000306 / product + 1.082 * overflow - 0.0986),
        50_000.0 - (12.307 / product + 49_408.24 * overflow + 4051.02),
        16_000.0 - (2.098 / product + 8046.33 * overflow - 696.71),
        10_000.0 - (2.138 / product + 7883.39 * overflow - 705.04),
        2000.0 - (0.417 * product + 1721.26 * overflow - 136.54),
        550.0 - (0.164 / product + 631.13 * overflow - 54.48),
    )
    return np.column_stack(
        [
            106_780.37 * (treatment + overflow) + 61_704.67,
            3000.0 * storage,
            305_700.0 * area * treatment / (0.06 * area) ** 0.65,
            250.0 * area * np.exp(-39.75 * treatment + 9.9 * overflow + 2.74),
            25.0 * (1.39 / product + 4940.0 * overflow - 80.0),
            violation(*margins),
        ]
    )


ROOT = float(np.sqrt(2.0))
ENGINEERING = {
    "re21": EngineeringProblem(
        low=(1.0, ROOT, ROOT, 1.0),
        high=(3.0,) * 4,
        ratios=(CHEAP, SLOW),
        values=four_bar_truss,
    ),
    "re34": EngineeringProblem(
        low=(1.0,) * 5,
        high=(3.0,) * 5,
        ratios=(CHEAP, SLOW, SLOW),
        values=vehicle_crash,
    ),
    "re37": EngineeringProblem(
        low=(0.0,) * 4,
        high=(1.0,) * 4,
        ratios=(CHEAP, CHEAP, SLOW),
        values=rocket_injector,
    ),
    "re41": EngineeringProblem(
        low=(0.5, 0.45, 0.5, 0.5, 0.875, 0.4, 0.4),
        high=(1.5, 1.35, 1.5, 1.5, 2.625, 1.2, 1.2),
        ratios=(CHEAP, SLOW, SLOW, SLOW),
        values=car_side_impact,
    ),
    "re61": EngineeringProblem(
        low=(0.01, 0.01, 0.01),
        high=(0.45, 0.10, 0.10),
        ratios=(CHEAP, CHEAP, CHEAP, SLOW, SLOW, SLOW),
        values=water_resources,
    ),
}
