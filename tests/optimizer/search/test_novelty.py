import tracemalloc
from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.search.novelty import TOLERANCE, is_new, take_new


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20),
    st.integers(0, 8),
)
def test_new_rows_are_those_that_a_loop_would_accept(
    rows: list[tuple[int, int]], known: int
) -> None:
    # 0, 1 and 2 apart: the same point; 3: another
    points = np.array(rows, dtype=float).reshape(-1, 2) * 0.4 * TOLERANCE
    expected, accepted = [], list(points[:known])
    for point in points[known:]:
        new = all(np.abs(point - other).max() > TOLERANCE for other in accepted)
        expected.append(new)
        accepted += [point] if new else []
    assert_array_equal(is_new(points[known:], points[:known]), expected)


def test_sources_are_used_in_turn_and_only_while_needed() -> None:
    asked = []

    def sources() -> Iterator[tuple[str, Floats]]:
        for name, X in (
            ("a", [[0.1], [0.1], [0.2]]),
            ("b", [[0.2], [0.3], [0.4], [0.5]]),
            ("c", [[0.6]]),
        ):
            asked.append(name)
            yield name, np.array(X)

    X, names = take_new(sources(), 3, np.array([[0.3]]))
    assert_array_equal(X, [[0.1], [0.2], [0.4]])
    assert names == ("a", "a", "b")
    assert asked == ["a", "b"]


def test_fewer_points_when_the_sources_have_no_more() -> None:
    X, names = take_new([("a", np.array([[0.1], [0.3]]))], 3, np.array([[0.3]]))
    assert_array_equal(X, [[0.1]])
    assert names == ("a",)


def test_nothing_is_asked_for_nothing() -> None:
    X, names = take_new([("a", np.ones((1, 3)))], 0, np.zeros((2, 3)))
    assert X.shape == (0, 3)
    assert names == ()


def test_fifty_thousand_points_need_no_table_of_all_pairs() -> None:
    X = np.random.default_rng(0).random((50_000, 3))
    known = X[::2] + 0.9 * TOLERANCE
    tracemalloc.start()
    try:
        chosen, _ = take_new(
            [("a", np.vstack([X, X[1::1000] - 0.9 * TOLERANCE]))], 50_000, known
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert_array_equal(chosen, X[1::2])
    assert peak < 50e6  # a table of 25,000 x 25,000 distances has 5e9 bytes


def test_many_copies_of_one_point_are_one_point() -> None:
    X = np.full((20_000, 2), 0.5)
    X[7] = 0.25
    assert_array_equal(np.flatnonzero(is_new(X, X[:0])), [0, 7])
