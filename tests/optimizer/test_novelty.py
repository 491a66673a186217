from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.novelty import TOLERANCE, is_new, take_new


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20), st.integers(0, 8))
def test_new_rows_are_those_that_a_loop_would_accept(rows: list[tuple[int, int]], known: int) -> None:
    points = (
        np.array(rows, dtype=float).reshape(-1, 2) * 0.4 * TOLERANCE
    )  # 0, 1 and 2 apart: the same point; 3: another
    expected, accepted = [], list(points[:known])
    for point in points[known:]:
        new = all(np.abs(point - other).max() > TOLERANCE for other in accepted)
        expected.append(new)
        accepted += [point] if new else []
    assert_array_equal(is_new(points[known:], points[:known]), expected)


def test_sources_are_used_in_turn_and_only_while_needed() -> None:
    asked = []

    def sources() -> Iterator[tuple[str, Floats]]:
        for name, X in (("a", [[0.1], [0.1], [0.2]]), ("b", [[0.2], [0.3], [0.4], [0.5]]), ("c", [[0.6]])):
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
