"""K-RVEA and HK-RVEA: training archive, choice of a batch, extras."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.propose import propose
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.catalogue import STRATEGIES
from app.optimizer.strategies.hk_rvea import with_archive
from app.optimizer.strategies.k_rvea import (
    Found,
    archive_rows,
    choose,
    in_canonical_order,
    inactive,
    one_of_each,
    search,
)

PROBLEM = Problem(
    (Variable("a", 0.0, 1.0), Variable("b", 0.0, 1.0)),
    (Objective("fast"), Objective("slow")),
    (5.0, 1.0),
)


def values(X: np.ndarray) -> np.ndarray:
    distance = 1.0 + X[:, 1]
    return np.column_stack([X[:, 0] * distance, (1.0 - X[:, 0]) * distance])


def snapshot(n: int = 21, step: int = 1) -> Snapshot:
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    F = values(X)
    steps = np.zeros(n, dtype=np.int64)
    steps[-3:] = step - 1
    stream = rng.random((60, 2))
    frozen = (Data(np.vstack([X, stream]), values(np.vstack([X, stream]))[:, 0]), None)
    return Snapshot(step, n, 40, 3, X, F, frozen=frozen, full_steps=steps)


def test_the_archive_is_everything_while_it_is_small() -> None:
    assert archive_rows(snapshot(21), 21, np.random.default_rng(0)).tolist() == list(
        range(21)
    )


def test_the_archive_keeps_the_newest_and_one_of_each_cluster() -> None:
    """Two groups of three in objective space, two rows kept of them: one of each."""
    F = np.array([[0, 9], [0.1, 9], [0.2, 9], [9, 0], [9, 0.1], [9, 0.2], [5.0, 5.0]])
    X = np.linspace(0, 1, 14).reshape(7, 2)
    steps = np.array([0, 0, 0, 0, 0, 0, 4])
    told = Snapshot(5, 7, 40, 3, X, F, full_steps=steps)
    for seed in range(5):
        rows = archive_rows(told, 3, np.random.default_rng(seed))
        assert 6 in rows
        assert len(rows) == 3
        assert rows[0] < 3 <= rows[1]


def test_one_row_of_each_cluster() -> None:
    labels = np.array([2, 0, 0, 2, 5])
    rows = one_of_each(labels, np.random.default_rng(0))
    assert sorted(labels[rows].tolist()) == [0, 2, 5]


def test_vectors_without_a_row_are_inactive() -> None:
    V = np.array([[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)], [0.0, 1.0]])
    # Translated by their minimum: (0, 1) and (1, 0)
    assert inactive(np.array([[3.0, 5.0], [4.0, 4.0]]), V) == 1


V3 = np.array([[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)], [0.0, 1.0]])
# Rows 0 and 3 belong to the first vector, 1 to the second, 2 to the third
MU = np.array([[2.0, 0.0], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
VARIANCES = np.array([[4.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])


def test_the_batch_has_the_shortest_distance_while_vectors_stay_active() -> None:
    found = Found(np.eye(4), MU, VARIANCES, V3, V3)
    rows = choose(found, MU, 3, np.random.default_rng(0))
    assert sorted(rows.tolist()) == [1, 2, 3]


def test_the_batch_has_the_largest_variance_when_vectors_were_lost() -> None:
    """The population has lost the second vector; the archive has all three."""
    rows = [0, 2, 3]
    found = Found(np.eye(3), MU[rows], VARIANCES[rows], V3, V3)
    chosen = choose(found, MU, 3, np.random.default_rng(0))
    assert sorted(chosen.tolist()) == [0, 1]


def test_full_samples_outside_the_archive_train_cheap_objectives() -> None:
    told = in_canonical_order(snapshot(21))
    rows = np.arange(18)
    reduced = with_archive(told, rows, PROBLEM.cheap)
    assert len(reduced.X) == 18
    assert [len(data) for data in reduced.extra] == [3, 0]
    np.testing.assert_array_equal(reduced.extra[0].y, told.F[18:, 0])


def test_k_rvea_proposes_full_samples_only() -> None:
    proposal = propose(
        PROBLEM, snapshot(), STRATEGIES["k-rvea"], np.random.default_rng(0)
    )
    assert proposal.full.shape == (3, 2)
    assert [len(points) for points in proposal.cheap] == [0, 0]
    assert proposal.models.frozen == (None, None)
    assert proposal.models.reports[0] is not None
    assert proposal.models.reports[0].size == 21  # nothing of the stream


@pytest.mark.parametrize("name", ["k-rvea", "hk-rvea"])
def test_the_angle_counts_by_the_square_of_the_generation(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"app.optimizer.strategies.{name.replace('-', '_')}"
    found: list[float] = []

    def spy(*arguments: Any) -> Found:
        found.append(arguments[3])
        return search(*arguments)

    monkeypatch.setattr(f"{module}.search", spy)
    propose(PROBLEM, snapshot(), STRATEGIES[name], np.random.default_rng(0))
    assert found == [2.0]


def test_hk_rvea_adds_offspring_of_the_batch_for_the_cheap_objective() -> None:
    proposal = propose(
        PROBLEM, snapshot(), STRATEGIES["hk-rvea"], np.random.default_rng(0)
    )
    assert proposal.full.shape == (3, 2)
    assert [len(points) for points in proposal.cheap] == [12, 0]
    assert set(proposal.diagnostics.cheap_sources[0]) == {"offspring"}
    reports = proposal.models.reports
    assert reports[0] is not None
    assert reports[0].size == 81


@pytest.mark.parametrize("name", ["k-rvea", "hk-rvea"])
def test_neither_order_nor_units_matter(name: str) -> None:
    told = snapshot(24, step=3)
    strategy = STRATEGIES[name]
    first = propose(PROBLEM, told, strategy, np.random.default_rng(4))
    order = np.random.default_rng(5).permutation(len(told.X))
    steps = told.steps_of_full[order]
    shuffled = replace(told, X=told.X[order], F=told.F[order], full_steps=steps)
    again = propose(PROBLEM, shuffled, strategy, np.random.default_rng(4))
    np.testing.assert_array_equal(first.full, again.full)
    stream = told.frozen[0]
    assert stream is not None
    scaled = replace(
        told,
        F=told.F * [1024.0, 0.25],
        frozen=(Data(stream.X, 1024.0 * stream.y), None),
    )
    other = propose(PROBLEM, scaled, strategy, np.random.default_rng(4))
    np.testing.assert_allclose(first.full, other.full, atol=1e-6)
