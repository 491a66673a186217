import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pymoo.operators.crossover.sbx import cross_sbx
from pymoo.operators.mutation.pm import mut_pm
from scipy.stats import chisquare, ks_2samp

from app.optimizer.problem import Variable
from app.optimizer.search.operators import ETA, breed, cross, mutate
from app.optimizer.space import snap

N = 20_000
FLOATS = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(2))
MIXED = (
    Variable("k", 0, 6, "int"),
    Variable("n", 1, 9, "int", "log"),
    Variable("x", 0.0, 1.0),
)


def test_crossover_has_the_distribution_of_pymoos_away_from_the_bounds() -> None:
    """Only there do they agree: pymoo narrows the distribution to fit the bounds, we
    clip what lies outside.
    """
    A, B = np.full((N, 2), 0.45), np.full((N, 2), 0.55)
    mine = np.vstack(cross(A, B, np.random.default_rng(0)))
    eta, prob = np.full((N, 1), ETA), np.full((N, 1), 0.5)
    theirs = cross_sbx(
        np.stack([A, B]),
        np.zeros(2),
        np.ones(2),
        eta,
        prob,
        prob,
        random_state=np.random.default_rng(1),
    )
    for k in range(2):
        assert ks_2samp(mine[:, k], theirs.reshape(-1, 2)[:, k]).pvalue > 1e-3


def test_crossover_keeps_the_parents_sum_and_changes_half_of_the_variables() -> None:
    rng = np.random.default_rng(2)
    A, B = rng.random((500, 4)), rng.random((500, 4))
    C, D = cross(A, B, rng)
    assert_allclose(C + D, A + B)
    assert 0.45 < np.mean(np.isclose(C, A, rtol=1e-14)) < 0.55


def test_the_spread_of_crossover_computed_by_hand() -> None:
    """P(|beta| <= b) = b^(eta+1) / 2 for b <= 1, so the middle half of |beta| lies
    between 0.5^(1/21) and 2^(1/21).
    """
    A, B = np.ones((N, 1)), np.zeros((N, 1))
    C, _ = cross(A, B, np.random.default_rng(3))
    beta = np.abs(2.0 * C - 1.0)
    beta = beta[beta != 1.0]
    assert_allclose(
        np.quantile(beta, [0.25, 0.75]), [0.5 ** (1 / 21), 2 ** (1 / 21)], rtol=2e-3
    )


@pytest.mark.parametrize("x", [0.0, 0.03, 0.5, 1.0])
def test_mutation_has_the_distribution_of_pymoos(x: float) -> None:
    X = np.full((N, 2), x)
    mine = mutate(FLOATS, X, np.random.default_rng(4))
    eta, prob = np.full(N, ETA), np.full(N, 0.5)
    theirs = mut_pm(
        X,
        np.zeros(2),
        np.ones(2),
        eta,
        prob,
        False,
        random_state=np.random.default_rng(5),
    )
    for k in range(2):
        assert ks_2samp(mine[:, k], theirs[:, k]).pvalue > 1e-3


def test_one_variable_is_mutated_on_average() -> None:
    variables = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(10))
    X = np.full((5000, 10), 0.4)
    assert (
        0.9
        < np.mean(np.sum(mutate(variables, X, np.random.default_rng(6)) != X, axis=1))
        < 1.1
    )


def test_a_mutated_integer_is_drawn_anew_from_all_its_levels() -> None:
    variable = (Variable("k", 0, 6, "int"),)
    X = snap(variable, np.full((7 * 3000, 1), 0.5))
    # D = 1: every one is mutated
    levels = np.floor(mutate(variable, X, np.random.default_rng(7)) * 7)
    assert chisquare(np.bincount(levels[:, 0].astype(int), minlength=7)).pvalue > 1e-3


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_children_are_feasible(seed: int, pairs: int) -> None:
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 2, (2, pairs, 3)).astype(float)
    A, B = (
        snap(MIXED, np.where(rng.random((pairs, 3)) < 0.3, c, rng.random((pairs, 3))))
        for c in corner
    )
    children = breed(MIXED, A, B, rng)
    assert children.shape == (2 * pairs, 3)
    assert ((children >= 0.0) & (children <= 1.0)).all()
    assert_array_equal(snap(MIXED, children), children)


def test_all_randomness_comes_from_the_generator() -> None:
    A, B = np.random.default_rng(8).random((2, 9, 3))
    before = pickle.dumps(np.random.get_state())  # noqa: NPY002
    first, second = (breed(MIXED, A, B, np.random.default_rng(9)) for _ in range(2))
    assert_array_equal(first, second)
    assert not np.array_equal(first, breed(MIXED, A, B, np.random.default_rng(10)))
    assert pickle.dumps(np.random.get_state()) == before  # noqa: NPY002
