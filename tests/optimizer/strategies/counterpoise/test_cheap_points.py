"""Common cheap points, and how many evaluations each objective gets."""

from collections.abc import Callable

import numpy as np
from numpy.testing import assert_array_equal

from app.optimizer.problem import Problem
from app.optimizer.search.novelty import is_new
from app.optimizer.strategies.counterpoise.cheap_points import (
    extra_counts,
    extras_in_all,
    rows_per_output,
)
from app.optimizer.strategies.initial_phase import (
    initial_counts,
    initial_points,
    share,
)

MakeProblem = Callable[..., Problem]


def test_the_initial_phase_has_room_for_r_minus_one_evaluations_beside_each_of_the_design(
    make_problem: MakeProblem,
) -> None:
    assert_array_equal(
        initial_counts(make_problem(ratios=(5.0, 3.0, 1.0)), 10), [40, 20, 0]
    )


def test_all_cheap_objectives_share_the_first_points(make_problem: MakeProblem) -> None:
    problem = make_problem(ratios=(5.0, 3.0, 1.0))
    design = np.random.default_rng(1).random((10, 3))
    first, second, slow = initial_points(problem, 10, design, np.random.default_rng(0))
    assert (len(first), len(second), len(slow)) == (40, 20, 0)
    assert_array_equal(first[:20], second)
    assert is_new(first, design).all()


def test_without_cheap_objectives_there_are_no_points(
    make_problem: MakeProblem,
) -> None:
    problem = make_problem(ratios=(1.0, 1.0))
    assert [
        len(X)
        for X in initial_points(problem, 5, np.empty((0, 3)), np.random.default_rng(0))
    ] == [0, 0]


def test_what_full_samples_do_not_need_becomes_extras(
    make_problem: MakeProblem,
) -> None:
    problem = make_problem(ratios=(5.0, 3.0, 1.0))
    assert_array_equal(extra_counts(problem, 3, np.array([0, 0, 3])), [15, 9, 0])
    assert_array_equal(extra_counts(problem, 3, np.array([1, 2, 3])), [14, 7, 0])


def test_share_gives_each_objective_the_first_of_the_points() -> None:
    X = np.arange(6.0).reshape(3, 2)
    shared = share(X, np.array([3, 0, 1]))
    assert [len(points) for points in shared] == [3, 0, 1]
    assert_array_equal(shared[2], X[:1])


def test_extras_are_common_or_dealt_in_turn() -> None:
    counts = np.array([3, 1, 0])
    common = rows_per_output(counts, 3, common=True)
    assert [rows.tolist() for rows in common] == [[0, 1, 2], [0], []]
    assert extras_in_all(counts, common=True) == 3
    apart = rows_per_output(counts, 4, common=False)
    assert [rows.tolist() for rows in apart] == [[0, 2, 3], [1], []]
    assert extras_in_all(counts, common=False) == 4
