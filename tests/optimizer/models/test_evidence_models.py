"""`sbp-bo` and `counterpoise` with models by evidence: the same from records, whatever
the data.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.samples import Samples, new_samples
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.catalogue import STRATEGIES
from app.optimizer.strategies.counterpoise.settings import DEFAULTS
from app.optimizer.strategies.counterpoise.step import COUNTERPOISE, PromotionStep
from app.optimizer.strategies.strategy import Strategy

MakeProblem = Callable[..., Problem]
MakeSnapshot = Callable[..., Snapshot]
Evaluate = Callable[[Floats, int], Floats]

QUICK = replace(
    DEFAULTS, generations=3, brood=20, targets=30, samples=4, lattice="small"
)
SBP_BO = replace(STRATEGIES["sbp-bo"], models="evidence", w_max=3)
PROMOTION = replace(COUNTERPOISE, step=PromotionStep(QUICK))
BOTH = pytest.mark.parametrize(
    "strategy", [SBP_BO, PROMOTION], ids=["sbp", "promotion"]
)


def step(problem: Problem, snapshot: Snapshot, strategy: Strategy) -> Proposal:
    return propose(problem, snapshot, strategy, np.random.default_rng(0))


def assert_same_points(first: Proposal, second: Proposal) -> None:
    assert_array_equal(first.full, second.full)
    assert_array_equal(first.promoted, second.promoted)
    for own, other in zip(first.cheap, second.cheap, strict=True):
        assert_array_equal(own, other)


@BOTH
def test_warm_starts_survive_json(
    strategy: Strategy, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(3, (5.0, 5.0, 1.0))
    snapshot = make_snapshot(problem)
    first = step(problem, snapshot, strategy)
    recorded = json.loads(json.dumps(first.warm_starts))
    kept = replace(snapshot, step=3, warm_starts=first.warm_starts)
    replayed = replace(snapshot, step=3, warm_starts=tuple(recorded))
    second = step(problem, kept, strategy)
    assert_same_points(second, step(problem, replayed, strategy))
    assert second.warm_starts != first.warm_starts


def test_kept_frozen_models_are_those_of_the_record(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(3, (5.0, 1.0))
    snapshot = make_snapshot(problem)
    first = step(problem, snapshot, SBP_BO)
    after = replace(snapshot, step=3, warm_starts=first.warm_starts)
    rng = np.random.default_rng(0)
    kept = propose(problem, after, SBP_BO, rng, frozen=first.models.frozen)
    assert_same_points(kept, step(problem, after, SBP_BO))
    assert first.models.frozen[0] is kept.models.frozen[0]
    assert kept.models.frozen[1] is None


@BOTH
def test_the_order_of_fits_does_not_matter(
    strategy: Strategy, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    def backwards(function: Callable[..., object], tasks: Iterable[object]) -> list:  # type: ignore[type-arg]
        return [function(task) for task in reversed(list(tasks))][::-1]

    problem = make_problem(3, (5.0, 5.0, 1.0))
    snapshot = make_snapshot(problem)
    rng = np.random.default_rng(0)
    other = propose(problem, snapshot, strategy, rng, fit=backwards)
    assert_same_points(step(problem, snapshot, strategy), other)


def test_the_report_tells_structure_skill_and_weight(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(3, (5.0, 1.0))
    cheap, slow = step(problem, make_snapshot(problem), SBP_BO).diagnostics.models
    assert cheap is not None
    assert slow is not None
    assert cheap.structure in ("matern", "gaussian", "warped-matern")
    assert cheap.frozen_weight is not None
    assert (slow.stream, slow.frozen_weight, slow.theta) == (False, None, None)
    assert slow.skill is not None
    assert slow.skill > 0.5


@BOTH
@pytest.mark.parametrize(
    ("d", "ratios", "levels", "n"),
    [
        (1, (5.0, 1.0), (), 8),
        (50, (5.0, 1.0), (), 12),  # n < d
        (3, (4.0,), (), 10),
        (3, (1.0,), (), 10),
        (3, (1.0, 1.0), (), 10),  # nothing is cheap: no pool
        (4, (7.0, 3.0, 1.0), (3, 4), 12),
    ],
)
def test_any_problem(
    strategy: Strategy,
    d: int,
    ratios: tuple[float, ...],
    levels: tuple[int, ...],
    n: int,
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
) -> None:
    problem = make_problem(d, ratios, levels)
    proposal = step(problem, make_snapshot(problem, n=n, stream=10), strategy)
    assert proposal.shortfall is None
    assert len(proposal.full) + len(proposal.promoted) == 3


@BOTH
def test_units_and_offsets_do_not_matter(
    strategy: Strategy, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(3, (5.0, 5.0, 1.0))
    snapshot = make_snapshot(problem)
    a, b = np.array([1e3, 1.0, 1e-3]), np.array([-7.0, 100.0, 0.5])

    def changed(data: Data, j: int) -> Data:
        return Data(data.X, a[j] * (data.y + b[j]))

    other = replace(
        snapshot,
        F=a * (snapshot.F + b),
        extra=tuple(changed(data, j) for j, data in enumerate(snapshot.extra)),
        frozen=tuple(
            None if data is None else changed(data, j)
            for j, data in enumerate(snapshot.frozen)
        ),
    )
    first, second = step(problem, snapshot, strategy), step(problem, other, strategy)
    assert_allclose(first.full, second.full, atol=1e-5)
    assert_allclose(first.cheap[0], second.cheap[0], atol=1e-5)


@BOTH
def test_constant_repeated_partial_and_infeasible_values(
    strategy: Strategy,
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
    evaluate: Evaluate,
) -> None:
    problem = make_problem(3, (5.0, 1.0))
    snapshot = make_snapshot(problem, n=12, stream=15)
    F = snapshot.F.copy()
    F[:, 0] = 7.0
    points = np.random.default_rng(5).random((3, 3))
    partial = Data(points[:2], evaluate(points[:2], 2)[:, 1])
    for changes in (
        {"F": F},
        {"X": snapshot.X[[0] * 12], "F": snapshot.F[[0] * 12]},
        {"X": snapshot.X[:1], "F": snapshot.F[:1]},
        {"partial": (partial, partial), "infeasible": (points[2:], points[2:])},
    ):
        proposal = step(problem, replace(snapshot, **changes), strategy)
        assert len(proposal.full) + len(proposal.promoted) == 3


@BOTH
def test_running_samples_are_believed_at_their_means(
    strategy: Strategy,
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
    evaluate: Evaluate,
) -> None:
    """Told values train, missing ones lessen the deviation and change no mean."""
    problem = make_problem(3, (5.0, 1.0))
    snapshot = make_snapshot(problem)
    X = np.random.default_rng(8).random((2, 3))
    F = evaluate(X, 2) * [1.0, 0.0]
    known = np.array([[True, False]] * 2)
    running = Samples(X, F, known, np.ones(2, dtype=np.int64))
    without, with_running = (
        step(problem, each, strategy).models
        for each in (snapshot, replace(snapshot, running=running))
    )
    mean, variance = without.means_and_variances(X)
    new_mean, new_variance = with_running.means_and_variances(X)
    # The kernel is exact to 1e-12; a mean is a sum of large terms that cancel
    assert_allclose(new_mean[:, 1], mean[:, 1], rtol=1e-8)
    assert (new_variance[:, 1] < 0.5 * variance[:, 1]).all()
    assert (abs(new_mean - F)[:, 0] < abs(mean - F)[:, 0] + 1e-6).all()


@BOTH
def test_pessimistic_beliefs_are_a_deviation_above_the_mean(
    strategy: Strategy, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(3, (5.0, 1.0))
    snapshot = make_snapshot(problem)
    X = np.random.default_rng(8).random((1, 3))
    waiting = replace(snapshot, running=new_samples(X, 2, 1))
    plain = step(problem, snapshot, strategy).models
    pessimistic = step(problem, waiting, replace(strategy, belief="pessimistic")).models
    mean, variance = plain.means_and_variances(X)
    believed = pessimistic.means(X)
    # A told value is met up to the noise that the model allows for
    assert_allclose(believed[:, 1], mean[:, 1] + np.sqrt(variance[:, 1]), rtol=1e-2)
    assert (believed[:, 1] > mean[:, 1]).all()


@BOTH
def test_running_samples_of_which_nothing_is_told(
    strategy: Strategy, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(3, (5.0, 1.0))
    running = new_samples(np.random.default_rng(8).random((3, 3)), 2, 1)
    snapshot = replace(make_snapshot(problem), running=running)
    assert step(problem, snapshot, strategy).shortfall is None
