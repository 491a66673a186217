"""Candidates of promotion, and the choice among them."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.strategies.counterpoise.candidates import (
    FRESH,
    Candidates,
    join,
    promising,
)
from app.optimizer.strategies.counterpoise.directions import directions
from app.optimizer.strategies.counterpoise.extras import choose_extras, evolved_count
from app.optimizer.strategies.counterpoise.promotion import choose_by_gain
from app.optimizer.strategies.counterpoise.settings import DEFAULTS

DRAWS = np.zeros((1, 2))
RNG = np.random.default_rng


def candidates(
    mean: list[list[float]],
    deviation: list[list[float]] | None = None,
    fresh: bool = False,
) -> Candidates:
    F = np.array(mean)
    rows = np.full(len(F), FRESH) if fresh else np.arange(len(F))
    spread: Floats = np.zeros(F.shape) if deviation is None else np.array(deviation)
    return Candidates(np.arange(len(F))[:, None] / 10.0, F, spread, rows)


def test_a_candidate_is_left_out_if_even_its_optimistic_values_are_dominated() -> None:
    pool = candidates(
        [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]], [[0.0, 0.1], [0.0, 0.3], [0.0, 0.0]]
    )
    A = np.array([[0.5, 0.5]])
    assert_array_equal(
        promising(pool, A, directions(2, DEFAULTS), DEFAULTS, RNG(0)), [1, 2]
    )


def test_many_candidates_are_thinned_to_winners_and_some_others() -> None:
    t = np.linspace(0.0, 1.0, 400)
    pool = candidates(np.stack([t, 1.0 - t], axis=1).tolist())
    few = replace(DEFAULTS, candidates=20, random_candidates=10)
    W = np.array([[1.0, 0.0], [0.0, 1.0]])
    rows = promising(pool, np.array([[9.0, 9.0]]), W, few, RNG(0))
    assert 12 <= len(rows) <= 14
    assert {0, 399} <= set(rows.tolist())


def test_the_pool_comes_first_then_any_gain_then_the_largest_deviation() -> None:
    pool = candidates(
        [[0.5, 0.5], [2.0, 2.0], [3.0, 3.0]], [[0.0, 0.0], [0.0, 0.1], [0.0, 0.3]]
    )
    fresh = candidates([[0.0, 1.0]], fresh=True)
    both = join(pool, fresh)
    A = np.array([[1.0, 1.0]])
    Z = np.array([[0.0, 1.0], [0.5, 0.5]])
    rows, gains = choose_by_gain(both, A, Z, DRAWS, batch=4)
    assert_array_equal(rows, [0, 3, 2, 1])
    # cur = (1, sqrt(0.5)); the first brings it to (0.5, 0), the second to (0, 0).
    assert_allclose(gains, [(0.5 + np.sqrt(0.5)) / 2, 0.25, np.nan, np.nan])


def test_new_points_compete_for_a_share_of_the_places() -> None:
    """The pool's second best brings less than the new point, which takes one of two
    places; of one place, half is none.
    """
    pool = candidates([[0.5, 0.5], [0.2, 0.9]])
    both = join(pool, candidates([[0.0, 1.0]], fresh=True))
    A, Z = np.array([[1.0, 1.0]]), np.array([[0.0, 1.0], [0.5, 0.5]])
    chosen = {
        (batch, share): choose_by_gain(both, A, Z, DRAWS, batch, fresh_share=share)[0]
        for batch, share in [(2, 0.0), (2, 0.5), (1, 0.5)]
    }
    assert_array_equal(chosen[2, 0.0], [0, 1])
    assert_array_equal(chosen[2, 0.5], [0, 2])
    assert_array_equal(chosen[1, 0.5], [0])


def test_half_of_the_extras_are_children() -> None:
    assert evolved_count(15, 0.5) == 7
    Z = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    B = np.array([[2.0, 2.0]])
    found = candidates([[0.0, 1.0], [1.0, 0.0]], fresh=True)
    evolved = candidates([[0.5, 0.5], [9.0, 9.0]], fresh=True)
    by_search, by_children = choose_extras(
        found, evolved, B, Z, DRAWS, count=2, share=0.5
    )
    assert len(by_search) == 1
    assert_array_equal(by_children, [0])


def test_children_take_the_places_that_the_search_leaves() -> None:
    Z = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = candidates([[5.0, 5.0]], fresh=True)
    evolved = candidates([[0.0, 1.0], [1.0, 0.0]], fresh=True)
    by_search, by_children = choose_extras(
        found, evolved, np.array([[2.0, 2.0]]), Z, DRAWS, count=2, share=0.5
    )
    assert (len(by_search), len(by_children)) == (0, 2)
