"""Categorical and discrete variables: their codes, operators, designs and models."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.propose import propose
from app.optimizer.samples import Samples
from app.optimizer.search.design import grid, initial_design, latin, space_size
from app.optimizer.search.operators import breed, cross, mutate
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import decode, encode, snap
from app.optimizer.strategies.catalogue import STRATEGIES

FLOAT = Variable("x", 0.0, 2.0)
METAL = Variable("metal", 0, 2, "categorical")
SWITCH = Variable("switch", 0, 1, "categorical")
MIXED = (METAL, FLOAT, SWITCH)
GROUPS = (0, 0, 0, 1, 2, 2)


def test_codes_computed_by_hand() -> None:
    X = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0]])
    U = np.array([[0.0, 0.0, 1.0, 0.5, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]])
    assert_array_equal(encode(MIXED, X), U)
    assert_array_equal(decode(MIXED, U), X)


def test_the_largest_coordinate_is_the_choice() -> None:
    U = np.array([[0.2, 0.7, 0.6, 0.3, 0.1, 0.0]])
    assert_array_equal(snap(MIXED, U), [[0.0, 1.0, 0.0, 0.3, 1.0, 0.0]])


def test_a_choice_is_inherited_whole_from_either_parent() -> None:
    rng = np.random.default_rng(0)
    A = np.tile(encode((METAL, SWITCH), np.array([[0.0, 0.0]])), (400, 1))
    B = np.tile(encode((METAL, SWITCH), np.array([[2.0, 1.0]])), (400, 1))
    first, second = cross(A, B, rng, (METAL, SWITCH))
    X = decode((METAL, SWITCH), first)
    assert_array_equal(snap((METAL, SWITCH), first), first)
    assert_array_equal(first + second, A + B)  # one gets what the other does not
    pairs, counts = np.unique(X, axis=0, return_counts=True)
    assert_array_equal(pairs, [[0, 0], [0, 1], [2, 0], [2, 1]])
    assert counts.min() > 70


def test_mutation_redraws_the_choice_of_one_variable_in_d() -> None:
    U = np.tile(encode(MIXED, np.array([[1.0, 1.0, 0.0]])), (6000, 1))
    X = decode(MIXED, mutate(MIXED, U, np.random.default_rng(0)))
    levels, counts = np.unique(X[:, 0], return_counts=True)
    assert_array_equal(levels, [0, 1, 2])
    # A third is redrawn, a third of them as it was
    assert_allclose(counts / 6000, [1 / 9, 7 / 9, 1 / 9], atol=0.02)
    assert np.mean(X[:, 1] != 1.0) == pytest.approx(1 / 3, abs=0.02)
    assert np.mean(X[:, 2] == 1.0) == pytest.approx(1 / 6, abs=0.02)


def test_a_design_has_each_choice_equally_often() -> None:
    X = decode(MIXED, latin(MIXED, 31, np.random.default_rng(0)))
    assert sorted(np.bincount(X[:, 0].astype(int))) == [10, 10, 11]
    assert sorted(np.bincount(X[:, 2].astype(int))) == [15, 16]


def test_a_study_of_categories_only_is_searched_to_its_last_point() -> None:
    problem = Problem((METAL, SWITCH), (Objective("f"),), (1.0,))
    assert space_size(problem.variables) == 6
    assert len(np.unique(grid(problem.variables), axis=0)) == 6
    design = initial_design(problem, 10, np.random.default_rng(0))
    assert len(design) == 6
    X = design[:4]
    snapshot = Snapshot(1, 4, 20, 3, X, X.sum(axis=1, keepdims=True))
    rng = np.random.default_rng(0)
    proposal = propose(problem, snapshot, STRATEGIES["sbp-bo"], rng)
    assert len(proposal.full) == 2
    assert len(np.unique(np.vstack([X, proposal.full]), axis=0)) == 6
    assert proposal.shortfall is not None


def test_where_no_new_point_is_left_cheap_only_samples_become_full() -> None:
    problem = Problem((METAL, SWITCH), (Objective("f"), Objective("g")), (3.0, 1.0))
    everything = np.unique(grid(problem.variables), axis=0)
    X, pool = everything[:2], everything[2:5]  # the sixth is new
    known = np.tile([True, False], (3, 1))
    F = np.where(known, [[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]], 0.0)
    snapshot = Snapshot(
        2,
        2,
        9,
        3,
        X,
        np.array([[4.0, 1.0], [5.0, 1.0]]),
        extra=(Data(pool, F[:, 0]), Data(pool[:0], np.empty(0))),
        pool=Samples(pool, F, known, np.ones(3, dtype=int)),
    )
    rng = np.random.default_rng(0)
    proposal = propose(problem, snapshot, STRATEGIES["sbp-bo"], rng)
    assert_array_equal(proposal.full, everything[5:])
    # g is the same everywhere, so the smallest f first
    assert proposal.promoted.tolist() == [1, 2]
    assert proposal.shortfall is not None


def category_data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    U = latin(MIXED, n, rng)
    X = decode(MIXED, U)
    offset = np.array([0.0, 4.0, -1.0])[X[:, 0].astype(int)]
    return U, np.sin(3 * X[:, 1]) + offset + 0.1 * X[:, 2]


def test_choices_of_a_category_have_one_length_scale() -> None:
    U, y = category_data()
    model = Kriging(groups=GROUPS).fit(U, y)
    assert_array_equal(model.theta_[:3], model.theta_[0])
    assert model.theta_[4] == model.theta_[5]
    free = Kriging().fit(U, y)
    assert len(np.unique(free.theta_[:3])) == 3
    again = Kriging(theta0=model.theta_, groups=GROUPS).fit(U, y)
    assert again.log_likelihood_ >= model.log_likelihood_ - 0.05
    mean = model.mean(latin(MIXED, 40, np.random.default_rng(9)))
    assert np.isfinite(mean).all()


def test_a_tied_gradient_is_that_of_the_tied_likelihood() -> None:
    from app.optimizer.models.kriging.likelihood import Likelihood
    from app.optimizer.models.kriging.maximise_likelihood import maximise

    U, y = category_data(30)
    theta = maximise(Likelihood(np.asfortranarray(U), y), None, GROUPS)
    likelihood = Likelihood(np.asfortranarray(U), y)
    best = likelihood(np.log(theta))[0]
    for group in range(3):
        for factor in (0.8, 1.25):
            moved = np.where(np.array(GROUPS) == group, theta * factor, theta)
            assert likelihood(np.log(moved))[0] > best - 0.02


def test_permuting_choices_permutes_predictions() -> None:
    U, y = category_data()
    new = latin(MIXED, 50, np.random.default_rng(5))
    order = [2, 0, 1, 3, 5, 4]
    model = Kriging(groups=GROUPS).fit(U, y)
    permuted = Kriging(groups=GROUPS).fit(U[:, order], y)
    for a, b in zip(
        model.mean_and_std(new), permuted.mean_and_std(new[:, order]), strict=True
    ):
        assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_choice_never_seen_is_as_far_from_all_others() -> None:
    U, y = category_data()
    seen = U[:, 1] == 0.0
    model = Kriging(groups=GROUPS).fit(U[seen], y[seen])
    # Far from every value: the deviation is almost that of the process
    unseen = U[~seen]
    _, std = model.mean_and_std(unseen)
    _, known = model.mean_and_std(U[seen])
    assert std.min() > 10 * known.max()


@pytest.mark.parametrize("name", ["sbp-bo", "bo-aaf", "sbp-bo-r", "sbp-bo-c"])
def test_every_strategy_proposes_whole_choices(
    name: str, make_snapshot: Callable[..., Snapshot]
) -> None:
    objectives = (Objective("f"), Objective("g"))
    problem = Problem(MIXED, objectives, (4.0, 1.0))
    snapshot = make_snapshot(problem, n=20, stream=40)
    proposal = propose(problem, snapshot, STRATEGIES[name], np.random.default_rng(2))
    assert len(proposal.full) == 3
    for points in (proposal.full, *proposal.cheap):
        assert points.shape[1] == 6
        assert_array_equal(snap(problem.variables, points), points)


def test_children_of_equal_parents_are_whole_choices() -> None:
    U = latin(MIXED, 30, np.random.default_rng(0))
    children = breed(MIXED, U, U[::-1], np.random.default_rng(1))
    assert_array_equal(snap(MIXED, children), children)
