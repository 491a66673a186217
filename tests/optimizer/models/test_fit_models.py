from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from app.optimizer.models.fit_models import fit_models
from app.optimizer.models.fit_task import FitTask, fit_frozen
from app.optimizer.models.model_report import report_on
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.catalogue import STRATEGIES

MakeProblem = Callable[..., Problem]
MakeSnapshot = Callable[..., Snapshot]
SBP_BO = STRATEGIES["sbp-bo"]


def test_fits_start_from_the_step_before_and_frozen_ones_from_their_own(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    thetas = (np.array([1.0, 2.0, 3.0]), None)
    frozen_thetas = (np.array([4.0, 5.0, 6.0]), None)
    snapshot = make_snapshot(problem, theta=thetas, frozen_theta=frozen_thetas)
    seen: list[FitTask] = []

    def fit(function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        seen.extend(tasks)
        return [function(task) for task in seen]

    models = fit_models(problem, snapshot, SBP_BO, np.random.default_rng(0), fit=fit)
    assert [(task.theta is None, task.frozen) for task in seen] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert_array_equal(seen[0].theta, thetas[0])
    assert_array_equal(seen[1].theta, frozen_thetas[0])
    assert_array_equal(models.surrogates[0].frozen.theta0, frozen_thetas[0])  # type: ignore[union-attr]
    assert models.surrogates[1].frozen is None


def test_the_reported_theta_of_a_frozen_model_is_the_one_it_was_given() -> None:
    """What the model reads back can differ in the last bit, and the next step must not."""
    differing = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.random((30, 3))
        model = fit_frozen(Data(X, np.sin(3 * X).sum(axis=1)), rng.random(3))
        told = report_on(model, model)
        assert told is not None
        assert_array_equal(told.frozen_theta, model.theta0)
        differing += not np.array_equal(model.theta_, np.asarray(model.theta0))
    assert differing > 0


def test_ranges_are_those_of_complete_samples(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(ratios=(1.0, 1.0))
    snapshot = make_snapshot(problem)
    wild = Data(np.full((1, 3), 0.123), np.array([1e6]))
    models = fit_models(
        problem,
        replace(snapshot, partial=(wild, wild)),
        SBP_BO,
        np.random.default_rng(0),
    )
    assert_array_equal(models.low, snapshot.F.min(axis=0))
    assert_array_equal(models.spread, np.ptp(snapshot.F, axis=0))


def test_with_one_complete_sample_ranges_are_those_of_each_objective(
    make_problem: MakeProblem,
) -> None:
    problem = make_problem(ratios=(1.0, 1.0))
    X = np.random.default_rng(0).random((3, 3))
    partial = (Data(X[1:], np.array([5.0, 9.0])), Data(X[1:2], np.array([-4.0])))
    snapshot = Snapshot(1, 3, 10, 1, X[:1], np.array([[7.0, 1.0]]), partial=partial)
    models = fit_models(problem, snapshot, SBP_BO, np.random.default_rng(0))
    assert_array_equal(models.low, [5.0, -4.0])
    assert_array_equal(models.spread, [4.0, 5.0])


def test_members_without_data_are_left_out(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    nothing = Data(np.empty((0, 3)), np.empty(0))
    models = fit_models(
        problem,
        make_snapshot(problem, frozen=(nothing, None)),
        SBP_BO,
        np.random.default_rng(0),
    )
    assert models.surrogates[0].frozen is None
    assert models.surrogates[0].model is not None


@pytest.mark.parametrize("rows", [25, 1])
def test_a_member_that_saw_one_value_does_not_silence_the_other(
    rows: int, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    """It would be sure of that value everywhere; what the stream found decides, and the
    other way round.
    """
    problem = make_problem()
    plain = make_snapshot(problem, extra=(), extra_steps=())
    flat = np.column_stack([np.full(rows, 2.0), plain.F[:rows, 1]])
    models = fit_models(
        problem,
        replace(plain, X=plain.X[:rows], F=flat),
        SBP_BO,
        np.random.default_rng(0),
    )
    first = models.surrogates[0]
    assert first.model is None
    assert first.frozen is not None
    X = np.random.default_rng(1).random((9, 3))
    assert_array_equal(models.means(X)[:, 0], first.frozen.mean(X))
    assert models.reports[0] is not None
    assert (models.reports[0].size, models.reports[0].skill) == (rows, None)

    streamed = Data(plain.X[:9], np.full(9, 2.0))
    first = fit_models(
        problem,
        replace(plain, frozen=(streamed, None)),
        SBP_BO,
        np.random.default_rng(0),
    ).surrogates[0]
    assert first.model is not None
    assert first.frozen is None


def test_two_members_that_saw_one_value_predict_it_to_the_last_bit(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    """A mean of both would differ by rounding, which the selection would stretch to a
    range.
    """
    problem = make_problem()
    told = make_snapshot(problem, extra=(), extra_steps=())
    flat = replace(
        told,
        F=np.full_like(told.F, 0.1),
        frozen=(Data(told.X[:9], np.full(9, 0.1)), None),
    )
    models = fit_models(problem, flat, SBP_BO, np.random.default_rng(0))
    assert np.ptp(models.means(np.random.default_rng(1).random((99, 3)))[:, 0]) == 0.0
    assert_array_equal(models.spread, 0.0)
    assert models.reports[0] is not None
    assert models.reports[0].frozen_theta is not None


def test_values_that_differ_by_rounding_have_no_range_of_their_own(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    told = make_snapshot(problem)
    F = told.F.copy()
    F[:, 0] = np.where(np.arange(len(F)) % 2, 0.3, 0.1 + 0.2)
    assert np.ptp(F[:, 0]) > 0.0
    stream = told.frozen[0]
    assert stream is not None
    without = replace(told, F=F, extra=(), extra_steps=())
    models = fit_models(problem, without, SBP_BO, np.random.default_rng(0))
    assert (models.low[0], models.spread[0]) == (stream.y.min(), np.ptp(stream.y))
    models = fit_models(
        problem, replace(without, frozen=(None, None)), SBP_BO, np.random.default_rng(0)
    )
    assert models.spread[0] == 0.0


@pytest.mark.parametrize(
    ("d", "ratios", "named"),
    [(4, (5.0, 1.0), "4 variables"), (3, (5.0, 1.0, 1.0), "3 objectives")],
)
def test_the_snapshot_of_another_problem_is_refused(
    d: int,
    ratios: tuple[float, ...],
    named: str,
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
) -> None:
    snapshot = make_snapshot(make_problem(3, (5.0, 1.0)))
    with pytest.raises(ValueError, match=f"{named}.*the snapshot 3 and 2"):
        fit_models(make_problem(d, ratios), snapshot, SBP_BO, np.random.default_rng(0))
