from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pymoo.operators.survival.rank_and_crowding.metrics import calc_crowding_distance
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from app.optimizer.arrays import Floats
from app.optimizer.models.training_data import (
    MOST_EXTRA,
    Archive,
    KeepExtra,
    by_quality,
    choose_full,
    cluster_medoids,
    clustered_subset,
    crowding_distance,
    random_subset,
    true_cheap,
    two_members,
)
from app.optimizer.snapshot import Data, Snapshot

RNG = np.random.default_rng
NOTHING = Data(np.empty((0, 2)), np.empty(0))


def points(*first: float) -> Floats:
    return np.array([[x, 0.5] for x in first])


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(2, 5))
def test_crowding_distance_is_pymoos(seed: int, n: int, m: int) -> None:
    F = RNG(seed).random((n, m))
    theirs = calc_crowding_distance(F) * m  # pymoo takes the mean over objectives
    assert_allclose(crowding_distance(F), theirs if n > 2 else np.inf, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(2, 4))
def test_order_of_quality_is_front_by_front_then_by_crowding(
    seed: int, n: int, m: int
) -> None:
    F = RNG(seed).random((n, m))
    order = by_quality(F)
    start = 0
    for front in NonDominatedSorting().do(F):
        mine = order[start : start + len(front)]
        assert set(mine) == set(front)
        distance = crowding_distance(F[mine])
        assert (distance[:-1] >= distance[1:] - 1e-9).all()
        start += len(front)


def test_all_full_samples_train_while_they_are_few() -> None:
    assert_array_equal(choose_full(RNG(0).random((7, 2)), 7, RNG(1)), np.arange(7))
    assert_array_equal(choose_full(np.empty((0, 2)), 7, RNG(1)), np.arange(0))


def test_half_the_best_and_the_rest_at_random() -> None:
    F = RNG(2).random((60, 3))
    chosen = [choose_full(F, 21, RNG(seed)) for seed in range(200)]
    assert all(len(set(rows)) == 21 for rows in chosen)
    share = np.bincount(np.concatenate(chosen), minlength=60) / 200
    best = by_quality(F)[:10]  # floor(21 / 2)
    assert (share[best] == 1.0).all()
    rest = np.setdiff1d(np.arange(60), best)
    assert (share[rest] > 0.05).all()  # 11 of 50 on average
    assert (share[rest] < 0.45).all()


@given(st.integers(0, 10**6))
def test_permuting_rows_permutes_the_order_of_quality(seed: int) -> None:
    rng = RNG(seed)
    F, order = rng.random((30, 2)), rng.permutation(30)
    rank = {row: place for place, row in enumerate(order[by_quality(F[order])])}
    mine = {row: place for place, row in enumerate(by_quality(F))}
    extremes: set[int] = set()
    for front in NonDominatedSorting().do(F):
        extremes.update(front[np.isinf(crowding_distance(F[front]))])
    # The extremes are equally lonely
    assert all(rank[row] == mine[row] for row in range(30) if row not in extremes)


def archive(
    keep_extra: KeepExtra = "last", size: int = 100, **changes: object
) -> Archive:
    fields: dict[str, object] = {
        "step": 3,
        "settled": 4,
        "budget": 9,
        "batch": 1,
        "X": points(0.1, 0.2, 0.3),
        "F": np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]),
        "partial": (Data(points(0.4), np.array([4.0])), NOTHING),
        "extra": (Data(points(0.5, 0.6, 0.7), np.array([5.0, 6.0, 7.0])), NOTHING),
        "extra_steps": (np.array([2, 1, 2]), np.empty(0, dtype=np.int64)),
        "frozen": (Data(points(0.8, 0.9), np.array([8.0, 9.0])), None),
    }
    snapshot = Snapshot(**{**fields, **changes})  # type: ignore[arg-type]
    return Archive(snapshot, np.array([0, 2]), size, keep_extra, (0,))


def as_dict(data: Data | None) -> dict[float, float]:
    data = cast(Data, data)
    return dict(zip(data.X[:, 0].tolist(), data.y.tolist(), strict=True))


def test_the_ensemble_learns_from_chosen_incomplete_and_the_last_extras() -> None:
    cheap = two_members(archive(), 0, RNG(0))
    assert as_dict(cheap.model) == {0.1: 1.0, 0.3: 3.0, 0.4: 4.0, 0.5: 5.0, 0.7: 7.0}
    assert as_dict(cheap.frozen) == {0.8: 8.0, 0.9: 9.0}
    expensive = two_members(archive(), 1, RNG(0))
    assert as_dict(expensive.model) == {0.1: 10.0, 0.3: 30.0}
    assert expensive.frozen is None


def test_all_extras_can_be_kept_the_newest_first() -> None:
    kept = as_dict(two_members(archive("all"), 0, RNG(0)).model)
    assert {0.5, 0.6, 0.7} <= set(kept)
    X = RNG(1).random((MOST_EXTRA + 50, 2))
    steps = np.arange(MOST_EXTRA + 50) // 10
    many = archive(
        "all",
        extra=(Data(X, X[:, 0]), Data(X[:0], X[:0, 0])),
        extra_steps=(steps, steps[:0]),
    )
    kept = as_dict(two_members(many, 0, RNG(0)).model)
    assert set(X[50:, 0]) <= set(kept)
    assert not set(X[:50, 0]) & set(kept)


def test_infeasible_points_enter_with_the_worst_value_seen_anywhere() -> None:
    infeasible = (points(0.15, 0.25), np.empty((0, 2)))
    learnt = archive(infeasible=infeasible)
    worst = replace(learnt, infeasible="worst")
    model = as_dict(two_members(worst, 0, RNG(0)).model)
    assert (model[0.15], model[0.25]) == (9.0, 9.0)  # of the stream
    # Else a model of their own has them
    assert not {0.15, 0.25} & set(as_dict(two_members(learnt, 0, RNG(0)).model))


def test_infeasible_points_wait_until_there_is_a_value() -> None:
    empty = archive(
        X=np.empty((0, 2)),
        F=np.empty((0, 2)),
        partial=(NOTHING,) * 2,
        extra=(),
        extra_steps=(),
        frozen=(),
        infeasible=(points(0.1),) * 2,
    )
    worst = replace(empty, chosen=np.arange(0), infeasible="worst")
    assert len(two_members(worst, 0, RNG(0)).model) == 0


def test_repeated_points_are_merged_into_their_mean() -> None:
    twice = Data(points(0.1, 0.4), np.array([5.0, 4.0]))
    model = as_dict(two_members(archive(partial=(twice, twice)), 0, RNG(0)).model)
    assert model[0.1] == 3.0
    assert model[0.4] == 4.0


def test_too_many_incomplete_samples_are_thinned() -> None:
    X = RNG(2).random((500, 2))
    model = two_members(
        archive(size=30, partial=(Data(X, X[:, 0]),) * 2), 1, RNG(0)
    ).model
    assert len(model) == 2 + 30


@pytest.mark.parametrize("choose", [random_subset, clustered_subset])
def test_single_models_choose_from_all_data_of_their_objective(choose: object) -> None:
    everything = choose(archive(), 0, RNG(0))  # type: ignore[operator]
    assert as_dict(everything.model) == {
        0.1: 1,
        0.2: 2,
        0.3: 3,
        0.4: 4,
        0.5: 5,
        0.6: 6,
        0.7: 7,
        0.8: 8,
        0.9: 9,
    }
    assert everything.frozen is None
    few = choose(archive(size=4), 0, RNG(0))  # type: ignore[operator]
    assert len(few.model) <= 4
    assert as_dict(few.model).items() <= as_dict(everything.model).items()


def test_random_subsets_differ_from_one_generator_to_another() -> None:
    seen = {
        tuple(random_subset(archive(size=4), 0, RNG(seed)).model.y)
        for seed in range(20)
    }
    assert len(seen) > 10
    assert all(len(y) == 4 for y in seen)


def test_one_point_is_taken_from_each_cluster() -> None:
    centres = np.array([[0.1, 0.1], [0.9, 0.1], [0.5, 0.9]])
    X = (centres[:, None, :] + 0.01 * RNG(3).standard_normal((3, 20, 2))).reshape(-1, 2)
    shares = [
        np.bincount(cluster_medoids(X, 3, RNG(seed)) // 20, minlength=3)
        for seed in range(20)
    ]
    # Where the three random starts fell into three clusters
    assert sum((share == 1).all() for share in shares) >= 5
    assert all(share.sum() <= 3 for share in shares)
    medoid = cluster_medoids(X[:20], 1, RNG(0))[0]
    assert medoid == np.linalg.norm(X[:20] - X[:20].mean(axis=0), axis=1).argmin()


def test_the_truth_replaces_cheap_models_only() -> None:
    assert true_cheap(archive(), 0, RNG(0)).truth
    assert not true_cheap(archive(), 1, RNG(0)).truth
    assert as_dict(true_cheap(archive(), 1, RNG(0)).model) == {0.1: 10.0, 0.3: 30.0}
