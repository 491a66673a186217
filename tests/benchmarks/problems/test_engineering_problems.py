"""Engineering problems against values of other implementations, and their stored
reference fronts.
"""

import moocore
import numpy as np
import pytest

from benchmarks.constrained.engineering_fronts import front_of
from benchmarks.problems.catalogue import problem, reference_front
from benchmarks.problems.engineering import ENGINEERING, polynomial, violation

# Points in natural units and their values: of re21, re34 and re37 by jMetalPy 1.9.0; of
# re41 and re61, where jMetalPy differs from the suite, by the suite's own Python program
# (github.com/ryojitanabe/reproblems)
VALUES = [
    ("re21", (1.5, 2.0, 2.5, 1.2), (1721.913190966, 0.03282842712475)),
    ("re21", (3.0, 1.5, 1.6, 2.2), (2317.246281525, 0.01693608705955)),
    ("re34", (1.0, 2.0, 3.0, 1.5, 2.5), (1683.71218685, 7.7686, 0.164425)),
    ("re34", (2.2, 1.1, 1.7, 2.9, 1.3), (1683.9744062, 11.050745, 0.102758)),
    ("re37", (0.1, 0.2, 0.3, 0.4), (0.5592274, 0.355116, 0.718815)),
    ("re37", (0.9, 0.35, 0.6, 0.05), (0.6897447, 0.30719525, 0.1041585)),
    (
        "re41",
        (0.5, 0.45, 0.5, 0.5, 0.875, 0.4, 0.4),
        (15.576004, 4.42725, 13.09138125, 9.4940193),
    ),
    (
        "re41",
        (1.2, 0.9, 0.7, 1.4, 2.0, 0.8, 1.1),
        (30.926008, 3.9003, 11.9856375, 0.1094),
    ),
    (
        "re61",
        (0.1, 0.02, 0.05),
        (69179.2959, 300.0, 570693.7929884, 6565447.565064, 21550.0, 0.0),
    ),
    (
        "re61",
        (0.01, 0.01, 0.1),
        (73450.5107, 30.0, 285346.8964942, 16027735.33305, 357850.0, 99727.0826),
    ),
]


@pytest.mark.parametrize(("name", "x", "values"), VALUES)
def test_values_agree_with_other_implementations(
    name: str, x: tuple[float, ...], values: tuple[float, ...]
) -> None:
    design = ENGINEERING[name]
    assert design.values(np.array([x]))[0] == pytest.approx(values, rel=1e-11)
    # The same point in the unit cube
    low, high = np.array(design.low), np.array(design.high)
    U = (np.array([x]) - low) / (high - low)
    F = problem(name, design.m).evaluate(U)
    assert F[0] == pytest.approx(values, rel=1e-9)


# Of the suite, as pymoo problems made from it state them
IDEAL = {
    "re37": (0.00889341391106, 0.00488, -0.431499999825),
    "re41": (15.576004, 3.58525, 10.61064375, 0.0),
}


@pytest.mark.parametrize("name", IDEAL)
def test_stored_fronts_reach_the_ideal_points_of_the_suite(name: str) -> None:
    front = reference_front(name, ENGINEERING[name].m)
    ideal = np.array(IDEAL[name])
    assert (front.min(axis=0) > ideal - 1e-5).all()
    assert (front.min(axis=0) - ideal < 1e-3 * np.ptp(front, axis=0)).all()


@pytest.mark.parametrize("name", ENGINEERING)
def test_stored_fronts_are_nondominated_and_no_random_point_is_far_below(
    name: str,
) -> None:
    design = ENGINEERING[name]
    front = reference_front(name, design.m)
    assert front.shape == (500, design.m)
    assert moocore.is_nondominated(front, keep_weakly=True).mean() > 0.99
    ours = problem(name, design.m)
    assert (ours.d, ours.n) == (design.d, 11 * design.d - 1)
    F = ours.evaluate(np.random.default_rng(0).random((2000, ours.d)))
    size = np.ptp(front, axis=0)
    beyond = (front[:, None] - F[None]) / size  # (500, 2000, m)
    # A front of 500 points has gaps, the wider the more objectives
    assert beyond.min(axis=2).max() < 0.05 * (design.m - 1)


def test_scores_do_not_depend_on_units() -> None:
    ours = problem("re61", 6)
    front = reference_front("re61", 6)
    assert ours.hypervolume(front) == pytest.approx(1.0)
    assert ours.igd_plus(front) == 0.0
    # All objectives worse by a tenth of the front's range
    worse = front + 0.1 * np.ptp(front, axis=0)
    assert 0.0 < ours.igd_plus(worse) <= 0.1 * np.sqrt(6.0)
    assert ours.hypervolume(worse) < 1.0


def test_a_front_is_made_again() -> None:
    front = front_of("re21", population=20, generations=5)
    assert front.shape[1] == 2
    assert moocore.is_nondominated(front).all()


def test_a_problem_has_its_own_number_of_objectives() -> None:
    with pytest.raises(ValueError, match="re41 has 4 objectives, not 3"):
        problem("re41", 3)


def test_parts_by_hand() -> None:
    X = np.array([[2.0, 3.0], [1.0, -1.0]])
    # 1 + 2 x_0 - x_0 x_1^2
    terms = {(): 1.0, (0,): 2.0, (0, 1, 1): -1.0}
    assert polynomial(terms, X).tolist() == [1.0 + 4.0 - 18.0, 1.0 + 2.0 - 1.0]
    kept, broken = np.array([0.5, -0.5]), np.array([-2.0, -1.0])
    assert violation(kept, broken).tolist() == [2.0, 1.5]
