import pickle

import numpy as np
from numpy.testing import assert_array_equal

from app.optimizer.models import fit_task as fitting
from app.optimizer.models.fit_task import (
    FitTask,
    fit_frozen,
    fit_task,
    spread_over_values,
    thin,
)
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.snapshot import Data


def data(n: int, seed: int = 0) -> Data:
    X = np.random.default_rng(seed).random((n, 3))
    return Data(X, np.sin(4 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * X[:, 2])


def test_a_fit_starts_from_the_step_before() -> None:
    cold = fit_task(FitTask(data(40), None))
    warm = fit_task(FitTask(data(40), cold.theta_))
    assert warm.n_evaluations_ < cold.n_evaluations_
    assert warm.log_likelihood_ >= cold.log_likelihood_ - 1e-3


def test_a_frozen_model_is_the_same_bits_fitted_now_or_given_its_theta() -> None:
    fitted = fit_task(FitTask(data(60), None, frozen=True))
    again = fit_task(FitTask(data(60), np.array(fitted.theta0).copy(), frozen=True))
    X = data(20, seed=1).X
    for mine, theirs in zip(
        fitted.mean_and_std(X),
        again.mean_and_std(X),
        strict=True,
    ):
        assert_array_equal(mine, theirs)
    assert again.n_evaluations_ == 0
    assert (
        fitted.log_likelihood_
        > Kriging(optimize=False).fit(data(60).X, data(60).y).log_likelihood_
    )


def test_up_to_1100_points_nothing_is_left_out() -> None:
    assert len(thin(data(1100))) == 1100


def test_above_1100_points_half_are_the_best_and_half_any() -> None:
    everything = data(2000)
    thinned = thin(everything)
    assert len(thinned) == 1100
    assert_array_equal(thinned.y[:550], np.sort(everything.y)[:550])
    others = np.searchsorted(np.sort(everything.y), thinned.y[550:])
    assert (others >= 550).all()
    assert len(np.unique(others)) == 550
    # At random: uniform on 550 … 1999, whose mean has a standard error of 14
    assert abs(others.mean() - 1275) < 40
    order = np.random.default_rng(1).permutation(2000)
    # The same at every step
    assert_array_equal(
        thin(Data(everything.X[order], everything.y[order])).X, thinned.X
    )


def test_hyperparameters_come_from_a_part_of_many_points() -> None:
    theta = np.asarray(fit_frozen(data(600), None).theta0)
    rows = spread_over_values(thin(data(600)).y, fitting.MOST_TUNED)
    assert len(set(rows.tolist())) == 545
    chosen = thin(data(600))
    assert_array_equal(theta, Kriging().fit(chosen.X[rows], chosen.y[rows]).theta_)
    assert len(fit_frozen(data(600), theta).y_) == 600


def test_rows_spread_over_values_reach_both_ends() -> None:
    y = np.random.default_rng(2).random(50)
    rows = spread_over_values(y, 5)
    assert (y[rows[0]], y[rows[-1]]) == (y.min(), y.max())
    assert sorted(spread_over_values(y, 99)) == list(range(50))
    assert len(spread_over_values(y[:0], 5)) == 0


def test_tasks_and_models_travel_between_processes() -> None:
    task = pickle.loads(pickle.dumps(FitTask(data(20), None)))  # noqa: S301
    model = pickle.loads(pickle.dumps(fit_task(task)))  # noqa: S301
    assert_array_equal(
        model.mean(data(5).X), fit_task(FitTask(data(20), None)).mean(data(5).X)
    )
