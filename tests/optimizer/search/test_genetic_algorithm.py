import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from app.optimizer.arrays import Floats
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.search.design import grid
from app.optimizer.search.genetic_algorithm import (
    MU,
    children_of,
    minimise,
    next_generation,
)
from app.optimizer.snapshot import Data

D = 4
PROBLEM = Problem(
    tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(D)),
    (Objective("f"), Objective("g")),
    (5.0, 1.0),
)


def bowl(X: Floats) -> Floats:
    return np.asarray(((X - 0.3) ** 2).sum(axis=1))


def told(n: int, seed: int = 0) -> Data:
    X = np.random.default_rng(seed).random((n, D))
    return Data(X, bowl(X))


def test_a_stream_finds_the_minimum_within_its_evaluations() -> None:
    data, rng = told(43), np.random.default_rng(1)
    by_chance = bowl(np.random.default_rng(2).random((43 * 10, D))).min()
    while len(data) < 43 * 10:
        X = next_generation(PROBLEM, data, np.arange(len(data)), 50, rng, data.X)
        assert X.shape == (50, D)
        data = Data(np.vstack([data.X, X]), np.append(data.y, bowl(X)))
    assert data.y.min() < 0.5 * by_chance
    assert pdist(data.X, "chebyshev").min() > 1e-6


def test_parents_are_the_best_told_whatever_their_order() -> None:
    data = told(120)
    ids = np.arange(120)
    order = np.random.default_rng(2).permutation(120)
    first = next_generation(PROBLEM, data, ids, 50, np.random.default_rng(3), data.X)
    again = next_generation(
        PROBLEM,
        Data(data.X[order], data.y[order]),
        ids[order],
        50,
        np.random.default_rng(3),
        data.X[order],
    )
    assert_array_equal(first, again)
    best = data.X[np.argsort(data.y)[:MU]]
    rest = data.X[np.argsort(data.y)[MU:]]
    # A variable that was neither crossed nor mutated is a parent's: all such come from
    # the mu best.
    inherited = np.isin(first, data.X)
    assert inherited.sum() > 50
    assert np.isin(first[inherited], best).all()
    assert not np.isin(first, rest).any()


def test_what_was_told_is_known_even_if_it_was_not_proposed() -> None:
    levels = (Variable("a", 0, 1, "int"), Variable("b", 0, 2, "int"))
    problem = Problem(levels, PROBLEM.objectives, (5.0, 1.0))
    X = grid(levels)
    children = next_generation(
        problem,
        Data(X[:4], np.arange(4.0)),
        np.arange(4),
        6,
        np.random.default_rng(0),
        X[:0],
    )
    assert {tuple(x) for x in children} == {tuple(x) for x in X[4:]}


def test_ties_are_broken_by_sample_id() -> None:
    X = np.random.default_rng(4).random((MU + 1, D))
    y = np.zeros(MU + 1)
    youngest_first = np.arange(MU + 1)[::-1].copy()
    children = next_generation(
        PROBLEM, Data(X, y), youngest_first, 400, np.random.default_rng(5), X
    )
    assert not np.isin(children, X[0]).any()  # the last id is the one too many
    assert np.isin(children, X[-1]).any()


def test_the_better_of_two_wins_a_tournament() -> None:
    """With two candidates, the better one is drawn into 3 of 4 tournaments."""
    best = np.array([[0.0], [1.0]])
    variables = (Variable("k", 0, 10**6, "int"),) * 1
    winners = children_of(
        (Variable("x", 0.0, 1.0),), best, 40_000, np.random.default_rng(6)
    )
    assert 0.72 < np.mean(winners < 0.5) < 0.78
    assert len(children_of(variables, best, 7, np.random.default_rng(6))) == 7


def test_no_point_is_proposed_that_was_taken() -> None:
    data = told(20)
    first = next_generation(
        PROBLEM, data, np.arange(20), 50, np.random.default_rng(7), data.X
    )
    second = next_generation(
        PROBLEM,
        data,
        np.arange(20),
        50,
        np.random.default_rng(7),
        np.vstack([data.X, first]),
    )
    assert cdist(first, second, "chebyshev").min() > 1e-6


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_stream_that_was_told_next_to_nothing_still_goes_on(n: int) -> None:
    data = told(n)
    X = next_generation(
        PROBLEM, data, np.arange(n), 30, np.random.default_rng(8), data.X
    )
    assert X.shape == (30, D)
    assert pdist(X, "chebyshev").min() > 1e-6


def test_an_exhausted_space_ends_the_stream() -> None:
    tiny = Problem((Variable("k", 0, 7, "int"),), (Objective("f"),), (1.0,))
    taken = (np.arange(6)[:, None] + 0.5) / 8
    X = next_generation(
        tiny,
        Data(taken, taken[:, 0]),
        np.arange(6),
        50,
        np.random.default_rng(9),
        taken,
    )
    assert_allclose(np.sort(X[:, 0]), [6.5 / 8, 7.5 / 8])


def test_minimise_returns_the_best_first() -> None:
    start = told(30).X
    X, F = minimise(
        PROBLEM.variables,
        lambda X: bowl(X)[:, None],
        start,
        20,
        np.random.default_rng(10),
    )
    assert_array_equal(F[:, 0], bowl(X))
    assert (np.diff(F[:, 0]) >= 0).all()
    assert F[0, 0] < 0.05 * bowl(start).min()
    assert len(np.unique(X, axis=0)) == len(X) == MU  # no copies
