"""What is special to each of the strategies that others are compared with."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from app.optimizer.problem import Constraint, Objective, Problem, Variable
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.samples import Samples
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.catalogue import STRATEGIES
from app.optimizer.strategies.fast_first import best_first, in_turn, pool_rows
from app.optimizer.strategies.initial_phase import sought_values
from app.optimizer.strategies.interleaving import brood, pseudo_values, usable
from app.optimizer.strategies.parego import (
    expected_improvement,
    random_weights,
    tchebycheff,
)
from app.optimizer.strategies.true_rvea import survivors

Array = NDArray[np.float64]
NAMES = (
    "random",
    "rvea",
    "parego",
    "fast-first",
    "brood-interleaving",
    "speculative-interleaving",
    "mht",
)


def problem(m: int = 3, ratios: tuple[float, ...] = (5.0, 3.0, 1.0)) -> Problem:
    variables = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(3))
    return Problem(variables, tuple(Objective(f"f{i}") for i in range(m)), ratios)


def values(X: Array) -> Array:
    g = 1.0 + X[:, 2]
    return np.column_stack([X[:, 0] * g, X[:, 1] * g, (2.0 - X[:, 0] - X[:, 1]) * g])


def snapshot(n: int = 12) -> Snapshot:
    rng = np.random.default_rng(0)
    X, P = rng.random((n, 3)), rng.random((20, 3))
    known = np.ones((20, 3), dtype=np.bool_)
    known[:, 2] = False
    F = np.where(known, values(P), 0.0)
    pool = Samples(P, F, known, np.repeat([0, 1], 10))
    extra = (Data(P, F[:, 0]), Data(P, F[:, 1]), Data(P[:0], np.empty(0)))
    steps = (pool.steps, pool.steps, pool.steps[:0])
    return Snapshot(
        2, n, 40, 3, X, values(X), extra=extra, extra_steps=steps, pool=pool
    )


def step(name: str, told: Snapshot, seed: int = 1) -> Proposal:
    return propose(problem(), told, STRATEGIES[name], np.random.default_rng(seed))


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_whole_and_does_not_depend_on_the_order_of_rows(name: str) -> None:
    told = snapshot()
    first = step(name, told)
    assert len(first.full) + len(first.promoted) == 3
    order = np.random.default_rng(2).permutation(len(told.X))
    shuffled = replace(
        told,
        X=told.X[order],
        F=told.F[order],
        full_steps=told.steps_of_full[order],
    )
    again = step(name, shuffled)
    np.testing.assert_array_equal(first.full, again.full)
    np.testing.assert_array_equal(first.promoted, again.promoted)


@pytest.mark.parametrize("name", ["random", "rvea", "parego"])
def test_strategies_that_wait_ask_for_no_extras(name: str) -> None:
    assert [len(points) for points in step(name, snapshot()).cheap] == [0, 0, 0]


def test_extras_use_what_the_ratios_allow() -> None:
    """u (r_j - 1) beside new full samples; promoted ones need no cheap value: u r_j."""
    counts = [len(points) for points in step("fast-first", snapshot()).cheap]
    assert counts == [12, 6, 0]
    for name in ("brood-interleaving", "speculative-interleaving"):
        proposal = step(name, snapshot())
        assert len(proposal.promoted) == 3
        assert [len(points) for points in proposal.cheap] == [15, 9, 0]
        np.testing.assert_array_equal(proposal.cheap[0][:9], proposal.cheap[1])


def test_survivors_are_the_best_of_each_direction() -> None:
    """The third row is dominated in the direction of the first."""
    told = snapshot(3)
    F = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0]])
    rows = survivors(replace(told, settled=40), F, STRATEGIES["rvea"])
    assert sorted(rows.tolist()) == [0, 1]


def test_tchebycheff_by_hand() -> None:
    F = np.array([[0.2, 1.0], [0.6, 0.0]])
    w = np.array([0.75, 0.25])
    # 0.75 * 0.2 = 0.15 and 0.25: 0.25 + 0.05 * 0.4; 0.45 + 0.05 * 0.45
    assert tchebycheff(F, w) == pytest.approx([0.27, 0.4725])


def test_expected_improvement_by_hand() -> None:
    """At the best value it is s / sqrt(2 pi); far below it, the difference."""
    result = expected_improvement(np.array([1.0, -9.0]), np.array([2.0, 0.1]), best=1.0)
    assert result == pytest.approx([2.0 / math.sqrt(2 * math.pi), 10.0])


def test_weights_lie_on_the_simplex() -> None:
    W = random_weights(3, 50, np.random.default_rng(0))
    assert W.shape == (50, 3)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    assert random_weights(1, 2, np.random.default_rng(0)).tolist() == [[1.0], [1.0]]


def test_fast_first_takes_the_best_of_each_cheap_objective_in_turn() -> None:
    X = np.array([[0.1], [0.2], [0.3], [0.4]])
    first = best_first(Data(X, np.array([4.0, 1.0, 3.0, 2.0])), full=X[[1]])
    assert first.ravel().tolist() == [0.4, 0.3, 0.1]
    second = X[[2, 0]]
    assert in_turn([first, second]).ravel().tolist() == [0.4, 0.3, 0.1]


def test_fast_first_promotes_samples_of_the_pool() -> None:
    """All cheap values of the snapshot are those of its pool."""
    proposal = step("fast-first", snapshot())
    assert len(proposal.promoted) == 3
    assert len(proposal.full) == 0
    X = np.array([[0.1], [0.2], [0.3]])
    rows, others = pool_rows(X, X[[2, 0]])
    assert rows.tolist() == [1, 0]
    assert others.tolist() == [[0.2]]


def test_fast_first_refuses_a_problem_without_cheap_objectives() -> None:
    equal = problem(ratios=(1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="fast-first needs at least one cheap"):
        propose(equal, snapshot(), STRATEGIES["fast-first"], np.random.default_rng(0))


def test_a_missing_value_is_that_of_the_nearest_full_sample() -> None:
    known = np.array([[True, False]])
    samples = Samples(
        np.array([[0.8]]), np.array([[5.0, 0.0]]), known, np.zeros(1, int)
    )
    X, F = np.array([[0.1], [0.9]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    assert pseudo_values(samples, X, F).tolist() == [[5.0, 4.0]]


def test_only_samples_with_all_cheap_values_can_be_promoted() -> None:
    told = snapshot()
    known = told.pool.known.copy()
    known[3, 1] = False
    F = np.where(known, told.pool.F, 0.0)
    pool = Samples(told.pool.X, F, known, told.pool.steps)
    assert 3 not in usable(pool, (0, 1))
    assert len(usable(pool, (0, 1))) == 19


def test_a_brood_is_the_newest_offspring_ranked_by_cheap_values() -> None:
    told = snapshot()
    order, _ = brood(problem(), told, STRATEGIES["brood-interleaving"])
    assert sorted(order[:10].tolist()) == list(range(10, 20))
    cheap = told.pool.F[order[:10], :2]
    best = cheap[0]
    assert not ((cheap <= best).all(axis=1) & (cheap < best).any(axis=1)).any()


def test_the_stream_of_a_constraint_seeks_its_limit() -> None:
    problem = Problem(
        (Variable("x", 0, 1),),
        (Objective("f"),),
        (1.0, 5.0),
        constraints=(Constraint("g", lower=1.0, upper=4.0),),
    )
    data = Data(np.zeros((4, 1)), np.array([0.0, 1.5, 3.8, 9.0]))
    assert sought_values(problem, 1, data).y.tolist() == pytest.approx([1, 0.5, 0.2, 5])
    assert sought_values(problem, 0, data) is data
