"""Noisy points that are evaluated again."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.step_models import Models
from app.optimizer.models.surrogate import Surrogate
from app.optimizer.problem import Constraint, Objective, Problem, Variable
from app.optimizer.proposal.proposal import Diagnostics, Proposal, Source
from app.optimizer.proposal.repetition import (
    front_points,
    uncertainty,
    with_repetition,
)
from app.optimizer.samples import Samples
from app.optimizer.snapshot import Snapshot

NOISY = Problem(
    (Variable("x", 0, 1),),
    (Objective("f", noise=0.1), Objective("g")),
    (1.0, 1.0),
)
X = np.array([[0.0], [0.25], [0.5], [1.0]])
F = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0], [2.0, 2.0]])  # the last is dominated
SNAPSHOT = Snapshot(1, 4, 10, 2, X, F)


@dataclass(frozen=True)
class Linear:
    """Mean 0, deviation `slope` x."""

    slope: float

    def mean(self, X: Floats) -> Floats:
        return np.zeros(len(X))

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        return np.zeros(len(X)), self.slope * X[:, 0]


MODELS = Models(
    X,
    F,
    low=np.zeros(2),
    spread=np.array([2.0, 2.0]),
    surrogates=(Surrogate(Linear(1.0)), Surrogate(Linear(9.0))),
    reports=(None, None),
)


def proposal(full: list[float]) -> Proposal:
    selected: Source = "selected"
    diagnostics = Diagnostics(
        (None, None), 0.0, ((1.0, 1.0),) * 2, 0, (selected,) * len(full), ((), ())
    )
    points = np.array(full)[:, None]
    nothing = (X[:0], X[:0])
    return Proposal(points, nothing, diagnostics, MODELS, X[:0])


def test_uncertainty_is_summed_over_noisy_objectives_in_their_ranges() -> None:
    assert uncertainty(MODELS, X, [0]).tolist() == [0.0, 0.125, 0.25, 0.5]
    assert uncertainty(MODELS, X, [0, 1]).tolist() == [0.0, 1.25, 2.5, 5.0]


def test_the_surest_new_point_gives_way_to_a_less_sure_one_of_the_front() -> None:
    repeated = with_repetition(NOISY, SNAPSHOT, proposal([0.9, 0.3]))
    assert repeated.full.tolist() == [[0.9], [0.5]]
    assert repeated.diagnostics.full_sources == ("selected", "repeated")


def test_new_points_stay_where_the_models_know_less_of_them() -> None:
    given = proposal([0.9, 0.6])
    assert with_repetition(NOISY, SNAPSHOT, given) is given


def test_exact_objectives_are_never_repeated() -> None:
    exact = replace(NOISY, objectives=(Objective("f"), Objective("g")))
    given = proposal([0.9, 0.3])
    assert with_repetition(exact, SNAPSHOT, given) is given


def test_only_feasible_points_that_do_not_run_already_are_repeated() -> None:
    assert front_points(NOISY, SNAPSHOT).tolist() == [[0.0], [0.25], [0.5]]
    running = Samples(
        X[[2]], np.zeros((1, 2)), np.zeros((1, 2), dtype=np.bool_), np.zeros(1, int)
    )
    busy = Snapshot(1, 4, 10, 2, X, F, running=running)
    assert front_points(NOISY, busy).tolist() == [[0.0], [0.25]]
    limited = replace(
        NOISY, ratios=(1.0,) * 3, constraints=(Constraint("c", upper=1.0),)
    )
    values = np.column_stack([F, [0.0, 2.0, 0.0, 0.0]])
    kept = Snapshot(1, 4, 10, 2, X, values)
    assert front_points(limited, kept).tolist() == [[0.0], [0.5]]


def test_a_repeated_noisy_value_makes_the_model_surer() -> None:
    """Points so far apart that they are independent, with 1, 3 and 1 values: each group
    of n explains n / (n + eta), and the rest meets the deviation of the mean.
    """
    rows = [0, 1, 1, 1, 2]
    points = np.array([[0.0], [0.5], [1.0]])
    y = np.array([0.0, 1.0, 1.2, 1.1, 0.0])
    model = Kriging(theta0=np.array([1e6]), optimize=False, noise=0.2)
    model.fit(points[rows], y)
    eta = model.eta_
    explained = np.array([1.0 / (1.0 + eta), 3.0 / (3.0 + eta)])
    unexplained = 1.0 - explained
    variance = unexplained + unexplained**2 / (2.0 * explained[0] + explained[1])
    _, std = model.mean_and_std(points[:2])
    assert std**2 / model.sigma2_ == pytest.approx(variance, rel=1e-6)
    assert std[1] < 0.7 * std[0]
