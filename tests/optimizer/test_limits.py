"""Limits of outputs and hidden constraints, from the formulas to the proposals."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from app.optimizer.arrays import Floats
from app.optimizer.limits import Limit, compress, margin_scale, total_violation
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.models.feasibility import (
    INDICATOR_RANGE,
    MOST_HIDDEN,
    Feasibility,
    LimitedOutput,
    fit_hidden,
    hidden_data,
)
from app.optimizer.models.fit_feasibility import as_margins
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.problem import Constraint, Objective, Problem, Variable
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.search.design import latin
from app.optimizer.search.genetic_algorithm import minimise
from app.optimizer.search.rvea import select
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.catalogue import STRATEGIES

VARIABLES = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(3))
OBJECTIVES = (Objective("f"), Objective("g"))
RNG = np.random.default_rng


def test_excess_and_probability_computed_by_hand() -> None:
    limit = Limit(-1.0, 2.0)
    assert_array_equal(limit.excess(np.array([-3.0, 0.0, 2.5])), [2.0, 0.0, 0.5])
    mu, s = np.array([2.0, 0.5, 5.0]), np.array([1.0, 1.5, 0.0])
    # Phi(0) - Phi(-3), Phi(1) - Phi(-1), and certainly not
    assert_allclose(limit.probability(mu, s), [0.49865, 0.68269, 0.0], atol=1e-5)
    assert Limit(upper=2.0).probability(np.array([2.0]), np.array([9.0])) == 0.5


def test_margins_are_compressed_and_keep_their_sign() -> None:
    limit = Limit(-1.0, 2.0)
    margins = limit.margin(np.array([-3.0, 0.0, 1.5, 6.0]))
    assert_array_equal(margins, [2.0, -1.0, -0.5, 4.0])
    assert margin_scale(margins) == 1.5
    assert margin_scale(np.zeros(3)) == 1.0
    expected = [np.log(3.0), -np.log(2.0), -np.log(1.5), np.log(5.0)]
    assert_allclose(compress(margins, 1.0), expected)
    assert_allclose(compress(1e6 * margins, 1e6), expected)


def test_means_are_worsened_towards_the_nearer_limit() -> None:
    mu, by = np.array([-2.0, -0.5, 0.5, 1.5, 3.0]), np.full(5, 0.25)
    worse = Limit(-1.0, 2.0).worsen(mu, by)
    assert_array_equal(worse, [-2.25, -0.75, 0.75, 1.75, 3.25])
    assert_array_equal(Limit(lower=0.0).worsen(mu, by), mu - 0.25)
    assert_array_equal(Limit(upper=0.0).worsen(mu, by), mu + 0.25)


def told_values(*y: float) -> Told:
    values, nothing = np.array(y), np.empty((0, 1))
    none = Data(nothing, np.empty(0))
    return Told(Data(values[:, None], values), none, np.empty(0, dtype=int), none)


def test_a_model_of_one_limit_learns_margins() -> None:
    told, limit = as_margins(told_values(1.0, 2.0, 5.0), Limit(lower=3.0))
    # Margins 2, 1 and -2; their median size is 2
    assert_allclose(told.full.y, [np.log(2.0), np.log(1.5), -np.log(2.0)])
    assert limit == Limit(upper=0.0)


def test_a_model_of_two_limits_learns_distances_from_their_middle() -> None:
    told, limit = as_margins(told_values(1.0, 3.0, 7.0), Limit(3.0, 5.0))
    # Distances -3, -1 and 3; their median size is 3
    assert_allclose(told.full.y, [-np.log(2.0), -np.log(4 / 3), np.log(2.0)])
    edge = np.log(4 / 3)
    assert (limit.lower, limit.upper) == pytest.approx((-edge, edge))


def test_violations_are_summed_in_units_of_the_ranges() -> None:
    limits = (Limit(), Limit(upper=1.0), Limit(lower=10.0))
    Y = np.array([[9.0, 3.0, 8.0], [9.0, 1.0, 10.0]])
    total = total_violation(limits, Y, np.array([1.0, 4.0, 0.5]))
    assert_array_equal(total, [2.0 / 4.0 + 2.0 / 0.5, 0.0])


def test_limits_of_a_maximised_objective_are_turned_round() -> None:
    lift = Objective("lift", "maximize", lower=3.0)
    assert lift.limit == Limit(-inf, -3.0)
    problem = Problem(
        VARIABLES, (Objective("f", upper=1.0), lift), (1.0, 1.0, 1.0),
        constraints=(Constraint("stress", lower=-2.0),),
    )  # fmt: skip
    assert problem.limits == (Limit(upper=1.0), Limit(upper=-3.0), Limit(lower=-2.0))


def test_in_a_subpopulation_feasible_rows_win_and_others_compete_by_violation() -> None:
    V = np.eye(2)
    F = np.array([[0.0, 0.0], [0.5, 0.0], [0.9, 0.0], [0.0, 0.4], [0.0, 0.3]])
    c = np.array([1.0, 0.2, 0.0, 0.1, 0.3])
    assert_array_equal(select(F, V, 0.0), [0, 4])
    assert_array_equal(select(F, V, 0.0, c), [2, 3])
    assert_array_equal(select(F, V, 0.0, np.zeros(5)), select(F, V, 0.0))


def test_one_objective_is_minimised_inside_its_limits() -> None:
    X = latin(VARIABLES, 30, RNG(0))

    def predict(X: Floats) -> Floats:
        return np.asarray(X.sum(axis=1, keepdims=True))

    def violation(X: Floats) -> Floats:
        return np.maximum(0.5 - X[:, 0], 0.0)

    best, _ = minimise(VARIABLES, predict, X, 30, RNG(1), violation)
    assert best[0, 0] >= 0.5
    assert best[0].sum() < 0.75


class Line:
    """Predicts slope times the first coordinate, with a deviation."""

    def __init__(self, slope: float, deviation: float) -> None:
        self.slope, self.deviation = slope, deviation

    def mean(self, X: Floats) -> Floats:
        return self.slope * X[:, 0]

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        return self.mean(X), np.full(len(X), self.deviation)


def test_predicted_violations_are_summed_and_probabilities_multiplied() -> None:
    first = LimitedOutput(Limit(upper=1.0), Line(2.0, 0.5), spread=4.0)
    second = LimitedOutput(Limit(lower=0.0, upper=3.0), Line(-1.0, 1.0), spread=0.0)
    limits = Feasibility((first, second), None)
    X = np.array([[0.5], [1.0]])
    # (2 - 1) / 4 + (0 - -1) / 1 at 1; (0 - -0.5) / 1 at 0.5
    assert_allclose(limits.violation(X), [0.5, 1.25])
    # Phi(0) (Phi(3.5) - Phi(0.5)), Phi(-2) (Phi(4) - Phi(1))
    assert_allclose(limits.probability(X), [0.154153, 0.003609], atol=1e-6)


def test_the_hidden_constraint_is_one_more_limit() -> None:
    X = np.linspace(0.0, 1.0, 9)[:, None]
    hidden = Kriging(noise=0.2).fit(X, np.where(X[:, 0] > 0.5, 1.0, -1.0))
    limits = Feasibility((), hidden)
    at = np.array([[0.1], [0.9]])
    mean, std = hidden.mean_and_std(at)
    assert_allclose(limits.violation(at), np.maximum(mean, 0.0) / INDICATOR_RANGE)
    assert_allclose(limits.probability(at), norm.cdf(-mean / std))
    assert limits.probability(at)[0] > 0.9 > 0.1 > limits.probability(at)[1]


def test_noise_is_a_nugget_of_its_share_of_the_variance() -> None:
    X = np.linspace(0.0, 1.0, 8)[:, None]
    y = np.sin(6 * X[:, 0]) + np.array([0.2, -0.2] * 4)
    model = Kriging(theta0=[40.0], optimize=False, noise=0.3).fit(X, y)
    eta = 0.09 / y.var()
    K = np.exp(-40.0 * (X - X.T) ** 2)
    R = K + (eta + model.eps_) * np.eye(8)
    one = np.ones(8)
    beta = one @ np.linalg.solve(R, y) / (one @ np.linalg.solve(R, one))
    mean = beta + K @ np.linalg.solve(R, y - beta)
    assert_allclose(model.mean(X), mean, rtol=1e-9)
    assert np.abs(model.mean(X) - y).max() > 0.05  # does not interpolate
    exact = Kriging(theta0=[40.0], optimize=False).fit(X, y)
    assert_allclose(exact.mean(X), y, atol=1e-4)


def snapshot_of(problem: Problem, X: Floats, Y: Floats, **changes: object) -> Snapshot:
    fields: dict[str, object] = {
        "step": 1,
        "settled": len(X),
        "budget": 60,
        "batch": 3,
        "X": X,
        "F": Y,
    }
    return Snapshot(**{**fields, **changes})  # type: ignore[arg-type]


def objectives(X: Floats) -> Floats:
    """A front between two corners, (n, 2)."""
    first = ((X - [1.0, 0.5, 0.5]) ** 2).sum(axis=1)
    second = ((X - [0.5, 1.0, 0.5]) ** 2).sum(axis=1)
    return np.stack([first, second], axis=1)


def constraint(X: Floats) -> Floats:
    return X[:, 0] + X[:, 1]


def proposal_with(
    scale: float = 1.0, name: str = "sbp-bo", ratio: float = 1.0
) -> tuple[Snapshot, Proposal]:
    """x1 + x2 <= 1.2, told in another unit."""
    problem = Problem(
        VARIABLES,
        OBJECTIVES,
        (4.0, 1.0, ratio),
        constraints=(Constraint("c", upper=1.2 * scale),),
    )
    X = latin(VARIABLES, 40, RNG(5))
    Y = np.column_stack([objectives(X), scale * constraint(X)])
    snapshot = snapshot_of(problem, X, Y)
    return snapshot, propose(problem, snapshot, STRATEGIES[name], RNG(1))


@pytest.mark.parametrize("name", ["sbp-bo", "bo-aaf", "sbp-bo-r", "sbp-bo-c"])
def test_proposals_keep_a_limit_that_the_models_know(name: str) -> None:
    snapshot, proposal = proposal_with(name=name)
    assert len(proposal.full) == 3
    points = np.vstack([proposal.full, *proposal.cheap])
    assert len(points) == 3 + 9
    assert np.mean(constraint(points) <= 1.2) > 0.8
    free = propose(
        Problem(VARIABLES, OBJECTIVES, (4.0, 1.0)),
        snapshot_of(
            Problem(VARIABLES, OBJECTIVES, (4.0, 1.0)), snapshot.X, snapshot.F[:, :2]
        ),
        STRATEGIES[name],
        RNG(1),
    )
    unlimited = np.vstack([free.full, *free.cheap])
    assert np.mean(constraint(unlimited) <= 1.2) < 0.6


def test_a_narrow_band_is_found() -> None:
    variables = VARIABLES[:2]
    band = Constraint("radius", lower=0.78, upper=0.82)
    problem = Problem(variables, OBJECTIVES, (4.0, 1.0, 1.0), constraints=(band,))
    X = latin(variables, 20, RNG(5))
    radius = (X**2).sum(axis=1)
    snapshot = Snapshot(1, 20, 60, 3, X, np.column_stack([X, radius]))
    proposal = propose(problem, snapshot, STRATEGIES["sbp-bo"], RNG(1))
    points = np.vstack([proposal.full, *proposal.cheap])
    # 3 % of the space keep the limits; a model of the margin finds 2 of 12
    assert np.mean(np.abs((points**2).sum(axis=1) - 0.8) <= 0.02) >= 0.5


def test_another_unit_of_a_constrained_output_changes_nothing() -> None:
    _, proposal = proposal_with()
    for scale in (1024.0, 2.0**-20):
        _, other = proposal_with(scale)
        assert_allclose(other.full, proposal.full, atol=1e-9)
        for mine, theirs in zip(proposal.cheap, other.cheap, strict=True):
            assert_allclose(theirs, mine, atol=1e-9)


def test_a_cheap_constraint_has_samples_of_its_own() -> None:
    _, proposal = proposal_with(ratio=2.0)
    assert [len(points) for points in proposal.cheap] == [9, 0, 3]


def test_limits_that_nobody_breaks_change_nothing() -> None:
    """Of an objective: there is no further output."""
    X = latin(VARIABLES, 40, RNG(5))
    free = Problem(VARIABLES, OBJECTIVES, (4.0, 1.0))
    limited = replace(
        free, objectives=(OBJECTIVES[0], Objective("g", lower=-1e6, upper=1e6))
    )
    snapshot = snapshot_of(free, X, objectives(X))
    first, second = (
        propose(problem, snapshot, STRATEGIES["sbp-bo"], RNG(1))
        for problem in (free, limited)
    )
    assert_array_equal(first.full, second.full)


def infeasible_snapshot(**changes: object) -> tuple[Problem, Snapshot]:
    problem = Problem(VARIABLES, OBJECTIVES, (4.0, 1.0))
    X = latin(VARIABLES, 60, RNG(5))
    bad = constraint(X) > 1.0
    nothing = X[:0]
    snapshot = snapshot_of(
        problem,
        X[~bad],
        objectives(X[~bad]),
        **{"infeasible": (X[bad], nothing), **changes},
    )
    return problem, snapshot


def test_infeasible_samples_are_avoided_by_every_objective() -> None:
    problem, snapshot = infeasible_snapshot()
    proposal = propose(problem, snapshot, STRATEGIES["sbp-bo"], RNG(1))
    points = np.vstack([proposal.full, *proposal.cheap])
    assert np.mean(constraint(points) <= 1.1) > 0.8
    rule = replace(STRATEGIES["sbp-bo"], infeasible="worst")
    old = propose(problem, snapshot, rule, RNG(1))
    worst = np.vstack([old.full, *old.cheap])
    assert np.mean(constraint(worst) <= 1.1) < np.mean(constraint(points) <= 1.1)


def test_the_indicator_is_learnt_from_every_sample_whose_feasibility_is_known() -> None:
    extra = Data(np.full((1, 3), 0.11), np.zeros(1))
    _, snapshot = infeasible_snapshot(
        extra=(extra, Data(np.full((1, 3), 0.99), np.zeros(1)))
    )
    data = hidden_data(snapshot, RNG(0))
    assert data is not None
    bad = constraint(data.X) > 1.0
    assert_array_equal(data.y, np.where(bad, 1.0, -1.0))
    # A value of the output that reports is a feasible sample, one of another is not
    assert len(data) == 60 + 1
    assert (data.X == 0.11).all(axis=1).any()
    model = fit_hidden(snapshot, None, RNG(0))
    assert model is not None
    new = latin(VARIABLES, 200, RNG(8))
    far = np.abs(constraint(new) - 1.0) > 0.1
    assert np.mean((model.mean(new) > 0) == (constraint(new) > 1.0), where=far) > 0.95


def test_where_two_outputs_report_only_complete_samples_are_feasible() -> None:
    extra = Data(np.full((1, 3), 0.11), np.zeros(1))
    _, snapshot = infeasible_snapshot(
        extra=(extra, extra), infeasible=(np.full((1, 3), 0.8), np.full((1, 3), 0.9))
    )
    data = hidden_data(snapshot, RNG(0))
    assert data is not None
    assert len(data) == len(snapshot.X) + 2


def test_without_infeasible_samples_there_is_no_hidden_model() -> None:
    problem = Problem(VARIABLES, OBJECTIVES, (1.0, 1.0))
    X = latin(VARIABLES, 10, RNG(0))
    rng = RNG(0)
    assert hidden_data(snapshot_of(problem, X, objectives(X)), rng) is None
    assert rng.random() == RNG(0).random()  # nothing drawn


def test_many_infeasible_samples_are_thinned() -> None:
    X = latin(VARIABLES, MOST_HIDDEN + 50, RNG(0))
    _, snapshot = infeasible_snapshot(infeasible=(X, X[:0]))
    data = hidden_data(snapshot, RNG(0))
    assert data is not None
    assert len(data) == MOST_HIDDEN


def test_where_nothing_is_likely_to_keep_the_limits_the_most_probable_is_tried() -> (
    None
):
    problem = Problem(
        VARIABLES,
        OBJECTIVES,
        (1.0, 1.0, 1.0),
        constraints=(Constraint("c", upper=-1.0),),  # impossible: x1 + x2 >= 0
    )
    X = latin(VARIABLES, 30, RNG(5))
    Y = np.column_stack([objectives(X), constraint(X)])
    proposal = propose(
        problem, snapshot_of(problem, X, Y), STRATEGIES["sbp-bo"], RNG(1)
    )
    assert len(proposal.full) == 3
    assert constraint(proposal.full).max() < 0.3
