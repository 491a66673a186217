"""MHT: quadratic models, the descent of all objectives, the life of a trust region."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import Bounds

from app.optimizer.arrays import Floats
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.propose import propose
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.catalogue import STRATEGIES
from app.optimizer.strategies.trust_region.descent import (
    relative_change,
    steepest_descent,
)
from app.optimizer.strategies.trust_region.quadratic_model import fit_quadratic, terms
from app.optimizer.strategies.trust_region.region import Region
from app.optimizer.strategies.trust_region.start_points import start_points

VARIABLES = (Variable("a", 0.0, 1.0), Variable("b", 0.0, 1.0))
PAIR = Problem(VARIABLES, (Objective("fast"), Objective("slow")), (4.0, 1.0))
MHT = STRATEGIES["mht"]


def values(X: Floats) -> Floats:
    """Distances from (0.2, 0.5) and (0.8, 0.5): the front is between them."""
    fast = (X[:, 0] - 0.2) ** 2 + (X[:, 1] - 0.5) ** 2
    slow = (X[:, 0] - 0.8) ** 2 + (X[:, 1] - 0.5) ** 2
    return np.stack([fast, slow], axis=1)


def snapshot(n: int = 8) -> Snapshot:
    X = np.random.default_rng(0).random((n, 2))
    return Snapshot(1, n, 40, 2, X, values(X))


def test_terms_by_hand() -> None:
    assert terms(np.array([[2.0, 3.0]])).tolist() == [[2.0, 3.0, 2.0, 4.5, 6.0]]


def test_a_quadratic_is_found_from_six_points() -> None:
    """f = 1 + 2a - b + 3a^2 + ab - 2b^2."""

    def f(X: Floats) -> Floats:
        a, b = X.T
        return np.asarray(1 + 2 * a - b + 3 * a**2 + a * b - 2 * b**2)

    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0], [0, 0.5]], dtype=float)
    model = fit_quadratic(Data(X, f(X)), X[0], 1.0)
    new = np.array([[0.3, 0.7], [0.9, 0.2]])
    assert model(new) == pytest.approx(f(new))


def test_too_few_points_give_the_smallest_coefficients() -> None:
    """One step of 1 along a raises f by 1: of g_a + H_aa / 2 = 1 the smallest are
    g_a = 0.8 and H_aa = 0.4.
    """
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    model = fit_quadratic(Data(X, np.array([5.0, 6.0])), X[0], 5.0)
    assert model.weights == pytest.approx([0.8, 0.0, 0.4, 0.0, 0.0])


def test_descent_is_balanced_between_the_objectives() -> None:
    """From (0.5, 0.8) in a box of 0.1: f = (0.18, 0.18), the ideal of both is at
    b = 0.7 and a = 0.4 or 0.6: 0.04 + 0.04 = 0.08, so r = (0.10, 0.10). The best point
    is (0.5, 0.7): f = 0.13, t = -0.05 / 0.10.
    """
    centre = np.array([0.5, 0.8])
    box = Bounds(np.array([0.4, 0.7]), np.array([0.6, 0.9]))
    found = steepest_descent(values, centre, values(centre[None])[0], box, centre[None])
    assert found.drop == pytest.approx([0.1, 0.1], abs=1e-6)
    assert found.x == pytest.approx([0.5, 0.7], abs=1e-4)
    assert found.change == pytest.approx(-0.5, abs=1e-4)


def test_a_point_of_the_front_is_critical() -> None:
    centre = np.array([0.5, 0.5])
    box = Bounds(centre - 0.1, centre + 0.1)
    found = steepest_descent(values, centre, values(centre[None])[0], box, centre[None])
    assert found.change == pytest.approx(0.0, abs=1e-5)


def test_relative_change_is_that_of_the_worst_objective() -> None:
    F = np.array([[1.0, 10.0], [3.0, 9.0]])
    change = relative_change(F, np.array([2.0, 12.0]), np.array([2.0, 4.0]))
    assert change.tolist() == [-0.5, 0.5]


TRIED = Region((0.5, 0.5), (2.0, 2.0), 0.2, (0.6, 0.5), (1.0, 1.0), -0.5)


@pytest.mark.parametrize(
    ("told", "radius", "moves"),
    [
        ((1.5, 1.5), 0.4, True),  # rho = 1
        ((1.95, 1.0), 0.15, True),  # rho = 0.1: accepted, not successful
        ((1.0, 2.0), 0.102, False),  # rho = 0
        ((1.0, 2.5), 0.102, False),
    ],
)
def test_radius_follows_the_quality_of_the_trial(
    told: tuple[float, float], radius: float, moves: bool
) -> None:
    X, F = np.array([[0.1, 0.1], [0.6, 0.5]]), np.array([[9.0, 9.0], told])
    after = TRIED.after_trial(X, F)
    assert after.radius == pytest.approx(radius)
    assert (after.centre == (0.6, 0.5)) is moves
    assert after.trial == ()


def test_a_trial_without_a_value_is_rejected_and_the_smallest_region_ends() -> None:
    nothing = np.empty((0, 2))
    assert TRIED.after_trial(nothing, nothing).radius == pytest.approx(0.102)
    assert TRIED.waits(np.array([[0.6, 0.5]]))
    assert not TRIED.waits(nothing)
    small = replace(TRIED, radius=0.0019)
    assert small.after_trial(nothing, nothing).has_ended
    largest = replace(TRIED, radius=0.4).after_trial(
        np.array([[0.6, 0.5]]), np.array([[1.5, 1.5]])
    )
    assert largest.radius == 0.5


def test_regions_begin_far_from_those_used() -> None:
    F = np.array([[0.0, 1.0], [0.4, 0.5], [1.0, 0.0], [1.0, 1.0]])
    X = np.arange(8.0).reshape(4, 2)
    rows = [region.values for region in start_points(X, F, [(0.0, 1.0)])]
    assert rows == [(1.0, 0.0), (0.4, 0.5)]


@pytest.mark.parametrize("is_callable", [True, False])
def test_regions_reach_the_front(is_callable: bool) -> None:
    """The state of a step is plain JSON; cheap objectives that can be called need no
    extras.
    """
    truth = {0: lambda X: values(X)[:, 0]} if is_callable else {}
    told = snapshot()
    for step in range(1, 8):
        rng = np.random.default_rng(step)
        found = propose(PAIR, replace(told, step=step), MHT, rng, truth=truth)
        assert len(found.full) == 2
        assert [len(points) for points in found.cheap] == [0 if is_callable else 6, 0]
        X = np.vstack([told.X, found.full])
        state = json.loads(json.dumps(found.warm_starts))
        told = replace(told, X=X, F=values(X), settled=len(X), warm_starts=tuple(state))
    # The roots of the values add up to the distance of both centres
    ended = np.array(state[0]["ended"])
    assert len(ended) >= 1
    assert np.sqrt(ended).sum(axis=1) == pytest.approx(0.6, abs=2e-3)


def test_a_region_waits_for_its_trial() -> None:
    first = propose(PAIR, snapshot(), MHT, np.random.default_rng(1))
    pending = (first.full, first.full)
    later = replace(
        snapshot(),
        step=2,
        warm_starts=first.warm_starts,
        pending=pending,
        taken=pending,
    )
    second = propose(PAIR, later, MHT, np.random.default_rng(2))
    record = second.warm_starts[0]
    assert record is not None
    trials = [region["trial"] for region in record["regions"]]
    assert {tuple(x) for x in first.full} <= {tuple(trial) for trial in trials}
    assert len(second.full) == 2


def test_integers_are_refused() -> None:
    mixed = Problem(
        (VARIABLES[0], Variable("k", 0, 5, "int")), PAIR.objectives, PAIR.ratios
    )
    with pytest.raises(ValueError, match="needs float variables; 'k' is int"):
        propose(mixed, snapshot(), MHT, np.random.default_rng(0))
