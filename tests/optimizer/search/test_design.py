from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import pdist

from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.search.design import filling, grid, initial_design, space_size
from app.optimizer.space import decode, snap


def problem(*variables: Variable) -> Problem:
    return Problem(variables, (Objective("f"),), (1.0,))


FLOATS = problem(Variable("x", 0.0, 1.0), Variable("y", 1.0, 1e3, scale="log"))
INTEGERS = problem(Variable("k", 1, 4, "int"), Variable("l", 0, 2, "int"))


def test_every_slice_of_every_float_has_one_point() -> None:
    X = initial_design(FLOATS, 20, np.random.default_rng(0))
    assert_array_equal(
        np.sort(np.floor(X * 20), axis=0), np.arange(20)[:, None].repeat(2, axis=1)
    )


def test_a_range_of_five_numbers_has_five_points() -> None:
    five = problem(Variable("x", 1.0, 1.0 + 4 * 2**-52))
    X = decode(five.variables, initial_design(five, 9, np.random.default_rng(0)))
    assert_array_equal(np.sort(X[:, 0]), 1.0 + np.arange(5) * 2**-52)


@given(st.integers(0, 10**6), st.integers(0, 40), st.integers(1, 5))
def test_designs_are_distinct_and_feasible(seed: int, n: int, levels: int) -> None:
    mixed = problem(
        Variable("k", 0, levels, "int"),
        Variable("l", 0, 3, "int"),
        Variable("x", 0.0, 1.0),
    )
    X = initial_design(mixed, n, np.random.default_rng(seed))
    assert X.shape == (n, 3)
    assert n < 2 or pdist(X, "chebyshev").min() > 1e-6
    assert_array_equal(snap(mixed.variables, X), X)


def test_a_design_larger_than_the_space_is_the_space() -> None:
    X = initial_design(INTEGERS, 50, np.random.default_rng(1))
    points = sorted(map(tuple, decode(INTEGERS.variables, X)))
    assert points == list(product(range(1, 5), range(3)))


def test_the_grid_has_every_point_once() -> None:
    assert space_size(INTEGERS.variables) == len(grid(INTEGERS.variables)) == 12
    assert space_size(FLOATS.variables) == np.inf
    # No overflow
    assert (
        space_size(tuple(Variable(f"k{i}", 0, 10**9, "int") for i in range(99)))
        == np.inf
    )


def test_the_last_point_of_a_large_integer_space_is_found() -> None:
    variables = (Variable("k", 0, 249, "int"), Variable("l", 0, 99, "int"))
    seen = np.vstack(list(filling(variables, 10, np.random.default_rng(2))))
    assert len(np.unique(seen, axis=0)) == 25_000


def test_the_same_seed_gives_the_same_design() -> None:
    first, second, other = (
        initial_design(FLOATS, 9, np.random.default_rng(seed)) for seed in (3, 3, 4)
    )
    assert_array_equal(first, second)
    assert not np.array_equal(first, other)
