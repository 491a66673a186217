"""T-SAEA, Tr-SAEA and TC-SAEA: what is transferred from the cheap to the expensive objective."""

from dataclasses import replace

import numpy as np
import pytest

from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.propose import propose
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.catalogue import STRATEGIES
from app.optimizer.strategies.transfer.domain_adaptation import (
    coral,
    transfer_components,
)
from app.optimizer.strategies.transfer.feature_selection import (
    correlations,
    costs,
    shared_variables,
)
from app.optimizer.strategies.transfer.pair import around, is_transfer_step
from app.optimizer.strategies.transfer.t_saea import blend
from app.optimizer.strategies.transfer.tc_saea import is_plausible
from app.optimizer.strategies.transfer.tr_saea import nearest_point, surest

VARIABLES = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(3))
PAIR = Problem(VARIABLES, (Objective("slow"), Objective("fast")), (1.0, 5.0))


def snapshot(step: int) -> Snapshot:
    """The difference of both objectives is 2 x_3."""
    rng = np.random.default_rng(0)
    X, E = rng.random((25, 3)), rng.random((12, 3))
    fast = (X[:, 0] - 0.3) ** 2 + X[:, 1]
    extra = Data(E, (E[:, 0] - 0.3) ** 2 + E[:, 1])
    none = Data(E[:0], np.empty(0))
    steps = (np.empty(0, dtype=np.int64), np.full(12, step - 1))
    theta = np.full(3, 0.7)
    return Snapshot(
        step,
        25,
        40,
        3,
        X,
        np.column_stack([fast + 2.0 * X[:, 2], fast]),
        extra=(none, extra),
        extra_steps=steps,
        theta=(theta, theta),
    )


def test_hyperparameters_of_shared_variables_are_blended() -> None:
    shared = np.array([True, False, True])
    theta = blend(np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 7.0]), shared, 0.25)
    assert theta.tolist() == [4.0, 2.0, 6.0]


def test_transfer_pauses_at_multiples_of_the_ratio() -> None:
    assert [s for s in range(1, 12) if is_transfer_step(s, 5.0)] == [
        2, 3, 4, 6, 7, 8, 9, 11,
    ]  # fmt: skip


def test_cost_of_a_choice_of_variables_by_hand() -> None:
    relevance = np.array([1.0, 0.5, 0.0])
    redundancy = np.array([[1.0, 0.4, 0.0], [0.4, 1.0, 0.0], [0.0, 0.0, 1.0]])
    position = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    # -0.8 * 0.75 + 0.2 * 0.4; -0.8; nothing chosen
    assert costs(position, relevance, redundancy) == pytest.approx(
        [-0.52, -0.8, np.inf]
    )


def test_variables_that_matter_to_both_objectives_are_chosen() -> None:
    X = np.random.default_rng(1).random((200, 3))
    F = np.column_stack([X[:, 0] + X[:, 1], X[:, 0] ** 3])
    relevance, redundancy = correlations(X, F)
    assert relevance[0] > 0.6
    assert relevance[1:].max() < 0.2
    assert np.diag(redundancy) == pytest.approx(1.0)
    chosen = shared_variables(X, F, np.random.default_rng(2))
    assert chosen.tolist() == [True, False, False]


def test_labels_outside_one_deviation_are_left_out() -> None:
    kept = is_plausible(np.array([1.0, 1.6, 0.4]), np.ones(3), np.full(3, 0.5))
    assert kept.tolist() == [True, False, False]


def test_extras_lie_in_the_box_of_the_batch() -> None:
    batch = np.array([[0.1, 0.5, 0.9], [0.2, 0.7, 0.8]])
    source, points = next(around(VARIABLES, batch, np.random.default_rng(0)))
    assert source == "offspring"
    assert (points >= batch.min(axis=0)).all()
    assert (points <= batch.max(axis=0)).all()


@pytest.mark.parametrize("name", ["t-saea", "tc-saea"])
def test_the_expensive_model_changes_only_when_transfer_is_due(name: str) -> None:
    plain = replace(STRATEGIES["bo-aaf"], train=STRATEGIES[name].train)
    for step, transfers in ((5, False), (7, True)):
        told = snapshot(step)
        own = propose(PAIR, told, STRATEGIES[name], np.random.default_rng(3))
        other = propose(PAIR, told, plain, np.random.default_rng(3))
        changed = own.models.reports[0] != other.models.reports[0]
        assert changed is transfers
        assert own.models.reports[1] == other.models.reports[1]
        assert [len(points) for points in own.cheap] == [0, 12]


def test_tc_saea_learns_labels_of_extras() -> None:
    """Without noise the difference is learnt well, and labels are plausible."""
    told = snapshot(7)
    proposal = propose(PAIR, told, STRATEGIES["tc-saea"], np.random.default_rng(3))
    report = proposal.models.reports[0]
    assert report is not None
    assert report.size > 25
    late = propose(
        PAIR, snapshot(26), STRATEGIES["tc-saea"], np.random.default_rng(3)
    ).models.reports[0]
    assert late is not None
    assert late.size == 25


@pytest.mark.parametrize("name", ["t-saea", "tr-saea", "tc-saea"])
def test_transfer_refuses_anything_but_one_cheap_and_one_expensive(name: str) -> None:
    three = Problem(
        VARIABLES,
        (Objective("a"), Objective("b"), Objective("c")),
        (5.0, 5.0, 1.0),
    )
    with pytest.raises(ValueError, match="has 3 objectives, 2 of them cheap"):
        propose(three, snapshot(2), STRATEGIES[name], np.random.default_rng(0))


def test_coral_gives_the_source_the_second_moment_of_the_target() -> None:
    """Variances 3 and 8, plus 1: 9 / 4, and its root 1.5."""
    source = np.array([0.0, 2.0 * np.sqrt(3.0)])
    target = np.array([-np.sqrt(8.0), np.sqrt(8.0)])
    assert coral(source, target) == pytest.approx(1.5 * source)


def test_transfer_components_solve_their_eigenvalue_problem() -> None:
    """(K L K + mu I)^-1 K H K w = lambda w, by matrices written out."""
    rng = np.random.default_rng(0)
    source, target = rng.normal(0.0, 1.0, 12), rng.normal(0.5, 2.0, 18)
    found = transfer_components(source, target)
    y = np.concatenate([source, target])
    K = np.exp(-((y[:, None] - y) ** 2) / (2.0 * found.width**2))
    L = np.full((30, 30), -1.0 / (12 * 18))
    L[:12, :12], L[12:, 12:] = 1.0 / 12**2, 1.0 / 18**2
    H = np.eye(30) - 1.0 / 30
    A = np.linalg.solve(K @ L @ K + 0.5 * np.eye(30), K @ H @ K)
    W = found.weights
    assert W.shape == (30, 20)
    eigenvalues = np.einsum("ik,ik->k", W, A @ W) / (W**2).sum(axis=0)
    np.testing.assert_allclose(A @ W, W * eigenvalues, atol=1e-6)
    largest = np.sort(np.linalg.eigvals(A).real)[::-1][:20]
    np.testing.assert_allclose(eigenvalues, largest, atol=1e-6)
    np.testing.assert_allclose(found(y), K @ W)


def test_a_transferred_point_has_the_wanted_prediction() -> None:
    """x_1 + x_2 = 0.7 is wanted of a model that adds both."""
    wanted = np.array([0.7])
    x = nearest_point(lambda X: X.sum(axis=1)[:, None], wanted, np.array([0.9, 0.4]))
    assert x.sum() == pytest.approx(0.7, abs=1e-5)


def test_each_model_learns_at_most_15_of_the_surest_labels() -> None:
    std = np.random.default_rng(0).random(40)
    assert sorted(std[surest(std)]) == sorted(std)[:15]
    assert surest(np.array([0.3, 0.1])).tolist() == [1, 0]


def test_tr_saea_trains_two_models_with_labels_of_each_other() -> None:
    told = snapshot(7)
    found = propose(PAIR, told, STRATEGIES["tr-saea"], np.random.default_rng(3))
    report, surrogate = found.models.reports[0], found.models.surrogates[0]
    assert report is not None
    assert report.size == 25 + 12
    X = np.random.default_rng(5).random((4, 3))
    first, second = surrogate.model, surrogate.frozen
    assert first is not None
    assert second is not None
    a, b = first.mean_and_std(X), second.mean_and_std(X)
    precision = 0.5 / a[1] ** 2 + 0.5 / b[1] ** 2
    mean = (0.5 * a[0] / a[1] ** 2 + 0.5 * b[0] / b[1] ** 2) / precision
    assert surrogate.mean(X) == pytest.approx(mean)
    assert [len(points) for points in found.cheap] == [0, 12]
    without = replace(told, extra=(), extra_steps=())
    alone = propose(PAIR, without, STRATEGIES["tr-saea"], np.random.default_rng(3))
    assert alone.models.surrogates[0].frozen is None
