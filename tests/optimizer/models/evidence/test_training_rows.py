"""Which rows a model learns from."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.training_rows import (
    MOST_ROWS,
    MOST_STREAM,
    Told,
    farthest_first,
    merge,
    with_stream,
    without_stream,
)
from app.optimizer.snapshot import Data


def points(n: int, seed: int) -> Floats:
    return np.random.default_rng(seed).random((n, 2))


def told(full: int, extra: int, stream: int) -> Told:
    """Values are the number of the source plus a running number; extras of step s are
    told in steps 1, 2, …
    """
    return Told(
        Data(points(full, 1), numbered(1e4, full)),
        Data(points(extra, 2), numbered(2e4, extra)),
        1 + np.arange(extra) // 10,
        Data(points(stream, 3), numbered(3e4, stream)),
    )


def numbered(first: float, n: int) -> Floats:
    return np.linspace(first, first + n - 1, n)


def counts(y: Floats) -> list[int]:
    """How many rows are full samples, cheap-only samples and points of the stream."""
    return [int(np.sum(y // 1e4 == source)) for source in (1, 2, 3)]


def test_all_full_samples_come_first() -> None:
    rows = with_stream(told(30, 20, 40))
    assert rows.full == 30
    assert_array_equal(np.sort(rows.y[:30]), 1e4 + np.arange(30))
    assert counts(rows.y) == [30, 20, 40]
    assert counts(without_stream(told(30, 20, 40)).y) == [30, 20, 0]


def test_more_full_samples_than_rows_are_all_kept() -> None:
    assert counts(with_stream(told(MOST_ROWS + 20, 30, 30)).y) == [MOST_ROWS + 20, 0, 0]
    assert counts(without_stream(told(MOST_ROWS + 20, 30, 30)).y) == [
        MOST_ROWS + 20,
        0,
        0,
    ]


def test_newest_cheap_only_samples_fill_the_rows() -> None:
    rows = without_stream(told(300, 400, 0))
    assert counts(rows.y) == [300, 100, 0]
    assert_array_equal(np.sort(rows.y[300:]), 2e4 + np.arange(300, 400))


def test_stream_has_at_most_its_share() -> None:
    assert counts(with_stream(told(100, 0, 600)).y) == [100, 0, MOST_STREAM]
    assert counts(with_stream(told(100, 300, 600)).y) == [100, 150, 150]
    assert counts(with_stream(told(100, 300, 50)).y) == [100, 250, 50]
    assert counts(with_stream(told(300, 20, 600)).y) == [300, 20, 80]


def test_point_of_several_sources_is_one_row() -> None:
    X = points(5, 1)
    other = Data(np.vstack([X[:3], points(2, 9)]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    data = Told(Data(X, np.arange(5.0)), other, np.ones(5, dtype=np.int64), other)
    assert len(with_stream(data).y) == 7
    assert len(without_stream(data).y) == 7


def test_merge_takes_the_mean_of_repeated_points() -> None:
    merged = merge(Data(np.array([[0.5], [0.1], [0.5]]), np.array([1.0, 7.0, 3.0])))
    assert_allclose(merged.X, [[0.1], [0.5]])
    assert_allclose(merged.y, [7.0, 2.0])


def test_order_in_which_values_were_told_plays_no_part() -> None:
    data = told(20, 30, 40)
    shuffled = np.random.default_rng(0).permutation
    full, extra, stream = shuffled(20), shuffled(30), shuffled(40)
    other = Told(
        Data(data.full.X[full], data.full.y[full]),
        Data(data.extra.X[extra], data.extra.y[extra]),
        data.extra_steps[extra],
        Data(data.stream.X[stream], data.stream.y[stream]),
    )
    for choose in (with_stream, without_stream):
        assert_array_equal(choose(data).X, choose(other).X)
        assert_array_equal(choose(data).y, choose(other).y)


def test_farthest_first_by_hand() -> None:
    X = np.array([[0.1], [0.2], [0.55], [0.9], [1.0]])
    # From 0: first 1.0; then 0.55, which is 0.45 from 1.0; then 0.2, which is 0.2 from
    # 0; then 0.1 and 0.9 tie at 0.1.
    order = farthest_first(X, np.array([[0.0]]), 4)
    assert order.tolist()[:3] == [4, 2, 1]
    assert order[3] in (0, 3)
    assert farthest_first(X, np.empty((0, 1)), 1).tolist() == [0]
    assert farthest_first(X[:0], X, 3).tolist() == []
    assert sorted(farthest_first(X, X[:0], 99).tolist()) == [0, 1, 2, 3, 4]
