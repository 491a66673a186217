"""What `propose` promises, whatever it is given: distinct, new, feasible points, or the
reason why not.
"""

import importlib
import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_models import fit_models
from app.optimizer.models.fit_task import FitTask
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.proposal.selection import extra_count, known_points, select
from app.optimizer.propose import propose
from app.optimizer.search.design import initial_design
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import snap
from app.optimizer.strategies.catalogue import STRATEGIES
from app.optimizer.strategies.fit_search_select import search
from app.optimizer.strategies.strategy import Strategy

MakeProblem = Callable[..., Problem]
MakeSnapshot = Callable[..., Snapshot]
SBP_BO = replace(STRATEGIES["sbp-bo"], w_max=5)
FEW = settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def step(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy = SBP_BO,
    seed: int = 0,
    **others: Any,
) -> Proposal:
    proposal = propose(
        problem, snapshot, strategy, np.random.default_rng(seed), **others
    )
    check(problem, snapshot, proposal)
    return proposal


def check(problem: Problem, snapshot: Snapshot, proposal: Proposal) -> None:
    """The promises that hold for every proposal."""
    everything = np.vstack([known_points(snapshot, i) for i in range(problem.m)])
    _check_points(problem, proposal.full, everything)
    for j in range(problem.m):
        _check_points(
            problem,
            proposal.cheap[j],
            np.vstack([known_points(snapshot, j), proposal.full]),
        )
        assert len(proposal.diagnostics.cheap_sources[j]) == len(proposal.cheap[j])
    assert len(proposal.diagnostics.full_sources) == len(proposal.full)
    if proposal.shortfall is None:
        assert len(proposal.full) == snapshot.batch
        assert [len(X) for X in proposal.cheap] == [
            extra_count(problem, snapshot.batch, j) for j in range(problem.m)
        ]


def _check_points(problem: Problem, X: Floats, known: Floats) -> None:
    assert X.shape[1] == problem.d
    assert ((X >= 0.0) & (X <= 1.0)).all()
    assert_array_equal(snap(problem.variables, X), X)
    for i, point in enumerate(X):
        others = np.vstack([known, X[:i]])
        assert len(others) == 0 or cdist(point[None], others, "chebyshev").min() > 1e-6


@pytest.mark.parametrize(
    "name", ["sbp-bo", "bo-aaf", "sbp-bo-r", "sbp-bo-c", "hk-rvea"]
)
@pytest.mark.parametrize("scaling", ["paper", "range"])
def test_every_strategy_proposes_a_batch_and_the_extras(
    name: str, scaling: Any, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(ratios=(5.0, 3.0, 1.0))
    proposal = step(
        problem,
        make_snapshot(problem),
        replace(STRATEGIES[name], w_max=5, scaling=scaling, size=20),
    )
    assert len(proposal.full) == 3
    assert [len(X) for X in proposal.cheap] == [12, 6, 0]
    assert proposal.shortfall is None


def test_the_truth_is_called_where_the_strategy_says_so(
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
    evaluate: Callable[[Floats, int], Floats],
) -> None:
    problem = make_problem()
    strategy = replace(STRATEGIES["sbp-nogpc"], w_max=5)
    proposal = step(
        problem,
        make_snapshot(problem),
        strategy,
        truth={0: lambda X: evaluate(X, 2)[:, 0]},
    )
    assert proposal.diagnostics.models[0] is None
    assert proposal.diagnostics.models[1] is not None
    with pytest.raises(ValueError, match=r"truth\[0\]"):
        step(problem, make_snapshot(problem), strategy)


@given(
    seed=st.integers(0, 10**6),
    m=st.integers(1, 4),
    levels=st.lists(st.integers(2, 9), max_size=3),
    n=st.integers(0, 30),
)
@FEW
def test_promises_hold_for_any_study(
    seed: int,
    m: int,
    levels: list[int],
    n: int,
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
) -> None:
    """Mixed variables; each objective has lost some of its values, some points are
    infeasible, some are pending.
    """
    rng = np.random.default_rng(seed)
    problem = make_problem(4, tuple(rng.integers(1, 5, m).astype(float)), tuple(levels))
    full = make_snapshot(problem, n=n, stream=15, seed=seed)
    complete = rng.random(len(full.X)) < 0.5
    lost = [
        Data(full.X[rows], full.F[rows, i])
        for i in range(m)
        for rows in [~complete & (rng.random(len(full.X)) < 0.6)]
    ]
    snapshot = replace(
        full,
        X=full.X[complete],
        F=full.F[complete],
        partial=tuple(lost),
        infeasible=tuple(snap(problem.variables, rng.random((2, 4))) for _ in range(m)),
        pending=tuple(snap(problem.variables, rng.random((2, 4))) for _ in range(m)),
        batch=int(rng.integers(0, 5)),
    )
    assert step(problem, snapshot, replace(SBP_BO, w_max=2), seed).shortfall is None


@pytest.mark.parametrize("m", [1, 2, 3])
def test_no_value_at_all_is_enough_to_go_on(m: int, make_problem: MakeProblem) -> None:
    problem = make_problem(ratios=(3.0,) * (m - 1) + (1.0,))
    nothing = Snapshot(1, 0, 10, 3, np.empty((0, 3)), np.empty((0, m)))
    proposal = step(problem, nothing)
    assert len(proposal.full) == 3
    assert proposal.diagnostics.models == (None,) * m


def test_one_sample_is_enough_to_go_on(make_problem: MakeProblem) -> None:
    problem = make_problem()
    proposal = step(
        problem, Snapshot(1, 1, 10, 3, np.full((1, 3), 0.5), np.ones((1, 2)))
    )
    report = proposal.diagnostics.models[0]
    assert report is not None
    assert (report.size, report.skill, report.calibration) == (1, None, None)


@pytest.mark.parametrize("scaling", ["paper", "range"])
@pytest.mark.parametrize("value", [0.0, -7.0, 1e9])
def test_equal_values_are_enough_to_go_on(
    scaling: Any, value: float, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    snapshot = make_snapshot(problem)
    constant = Data(snapshot.X[:9], np.full(9, value))
    snapshot = replace(
        snapshot,
        F=np.full_like(snapshot.F, value),
        extra=(),
        extra_steps=(),
        frozen=(constant, None),
    )
    step(problem, snapshot, replace(SBP_BO, scaling=scaling))


def test_an_objective_that_always_fails_does_not_stop_the_others(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    told = make_snapshot(problem)
    only_first = (Data(told.X, told.F[:, 0]), Data(told.X[:0], told.F[:0, 1]))
    proposal = step(
        problem, replace(told, X=told.X[:0], F=told.F[:0], partial=only_first)
    )
    assert proposal.diagnostics.models[0] is not None
    assert proposal.diagnostics.models[1] is None


def test_an_exhausted_space_is_said_to_be_so(make_problem: MakeProblem) -> None:
    problem = make_problem(2, (3.0, 1.0), (3, 3))
    grid = np.stack(
        np.meshgrid([1 / 6, 1 / 2, 5 / 6], [1 / 6, 1 / 2, 5 / 6]), axis=-1
    ).reshape(-1, 2)
    rng = np.random.default_rng(0)
    seven = Snapshot(1, 7, 20, 3, grid[:7], rng.random((7, 2)))
    proposal = step(problem, seven)
    assert_allclose(sorted(map(tuple, proposal.full)), sorted(map(tuple, grid[7:])))
    assert proposal.shortfall is not None
    assert "1 of 3 full samples" in proposal.shortfall
    assert "6 of 6 samples for objective 'f0'" in proposal.shortfall
    assert len(step(problem, Snapshot(1, 9, 20, 3, grid, rng.random((9, 2)))).full) == 0


def test_points_without_a_value_are_not_proposed_again(
    make_problem: MakeProblem,
) -> None:
    """Of a space of 12 points, all but 3 were taken, failed, or are pending."""
    problem = make_problem(1, (1.0, 1.0), (12,))
    codes = ((np.arange(12) + 0.5) / 12)[:, None]
    snapshot = Snapshot(
        *(1, 3, 20, 5, codes[:3], np.random.default_rng(0).random((3, 2))),
        pending=(codes[3:5], codes[:0]),
        taken=(codes[:0], codes[5:7]),
        infeasible=(codes[7:9], codes[:0]),
    )
    assert_allclose(np.sort(step(problem, snapshot).full[:, 0]), codes[9:, 0])


def test_a_point_told_for_one_objective_can_be_an_extra_of_another(
    make_problem: MakeProblem,
) -> None:
    """Cheap-only points need to be new for their own objective only; full ones for all."""
    problem = make_problem(1, (3.0, 3.0, 1.0), (6,))
    codes = ((np.arange(6) + 0.5) / 6)[:, None]
    snapshot = Snapshot(
        1,
        1,
        20,
        1,
        codes[:1],
        np.ones((1, 3)),
        taken=(codes[1:4], codes[1:2], codes[:0]),
    )
    proposal = step(problem, snapshot)
    assert proposal.full[0] in codes[4:]
    assert len(proposal.cheap[0]) == 1  # 0 … 3 and the full one are known to it
    assert len(proposal.cheap[1]) == 2


def test_the_batch_is_cut_and_the_extras_with_it(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    proposal = step(problem, make_snapshot(problem, batch=1))
    assert (len(proposal.full), len(proposal.cheap[0])) == (1, 4)
    assert len(step(problem, make_snapshot(problem, batch=0)).full) == 0


def test_one_objective_is_minimised_directly(
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
    evaluate: Callable[[Floats, int], Floats],
) -> None:
    problem = make_problem(ratios=(1.0,))
    snapshot = make_snapshot(problem, n=15)
    for seed in range(6):
        models = fit_models(problem, snapshot, SBP_BO, np.random.default_rng(seed))
        full = step(problem, snapshot, SBP_BO, seed).full
        assert (np.diff(models.means(full)[:, 0]) >= 0.0).all()  # the best mean first
        assert pdist(full, "chebyshev").min() > 0.01
        snapshot = replace(
            snapshot,
            X=np.vstack([snapshot.X, full]),
            F=np.vstack([snapshot.F, evaluate(full, 1)]),
        )
    # With 33 evaluations
    assert (
        snapshot.F.min() < evaluate(np.random.default_rng(0).random((5000, 3)), 1).min()
    )


def test_same_seed_same_proposal_and_no_other_source_of_chance(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    snapshot = make_snapshot(problem)
    before = pickle.dumps(np.random.get_state())  # noqa: NPY002
    first, second, other = (step(problem, snapshot, seed=seed) for seed in (1, 1, 2))
    assert_same(first, second)
    assert not np.array_equal(first.full, other.full)
    assert pickle.dumps(np.random.get_state()) == before  # noqa: NPY002


def assert_same(first: Proposal, second: Proposal) -> None:
    assert_array_equal(first.full, second.full)
    for mine, theirs in zip(first.cheap, second.cheap, strict=True):
        assert_array_equal(mine, theirs)
    assert first.diagnostics == second.diagnostics


def test_the_way_models_are_mapped_does_not_matter(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(ratios=(5.0, 3.0, 1.0))
    snapshot = make_snapshot(problem)

    def backwards(
        function: Callable[[FitTask], Kriging], tasks: Iterable[FitTask]
    ) -> list[Kriging]:
        return [function(task) for task in list(tasks)[::-1]][::-1]

    assert_same(step(problem, snapshot), step(problem, snapshot, fit=backwards))
    with ThreadPoolExecutor(2) as pool:
        assert_same(step(problem, snapshot), step(problem, snapshot, fit=pool.map))


def test_frozen_models_kept_or_given_by_their_theta_change_nothing(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    snapshot = make_snapshot(problem)
    first = step(problem, snapshot)
    theta = tuple(
        None
        if each is None or each.frozen_theta is None
        else np.array(each.frozen_theta)
        for each in first.diagnostics.models
    )
    assert theta[0] is not None
    kept = tuple(
        each.frozen
        for each in fit_models(
            problem, snapshot, SBP_BO, np.random.default_rng(0)
        ).surrogates
    )
    assert_same(first, step(problem, replace(snapshot, frozen_theta=theta)))
    assert_same(first, step(problem, snapshot, frozen=kept))


@given(seed=st.integers(0, 10**6))
@FEW
def test_the_order_of_rows_does_not_matter(
    seed: int, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem()
    snapshot = make_snapshot(problem, n=40)
    strategy = replace(SBP_BO, size=30, keep_extra="all")  # so that D^t is a choice
    rng = np.random.default_rng(seed)

    def shuffled(data: Data | None) -> Any:
        order = rng.permutation(0 if data is None else len(data))
        return None if data is None else Data(data.X[order], data.y[order])

    order = rng.permutation(len(snapshot.X))
    mixed = replace(
        snapshot,
        X=snapshot.X[order],
        F=snapshot.F[order],
        frozen=tuple(shuffled(data) for data in snapshot.frozen),
        extra=tuple(shuffled(data) for data in snapshot.extra),
    )
    assert_same(step(problem, snapshot, strategy), step(problem, mixed, strategy))


@given(
    seed=st.integers(0, 10**6),
    units=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
    offsets=st.tuples(*[st.floats(-50.0, 50.0)] * 3),
)
@FEW
def test_with_range_scaling_units_and_offsets_do_not_matter(
    seed: int,
    units: tuple[float, ...],
    offsets: tuple[float, ...],
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
) -> None:
    problem = make_problem(ratios=(4.0, 2.0, 1.0))
    snapshot = make_snapshot(problem, n=40, seed=seed)
    strategy = replace(STRATEGIES["sbp-bo"], size=35)
    a, b = 10.0 ** np.array(units), np.array(offsets)

    def converted(data: Data | None, i: int) -> Any:
        return None if data is None else Data(data.X, a[i] * data.y + b[i])

    other = replace(
        snapshot,
        F=a * snapshot.F + b,
        extra=tuple(converted(data, i) for i, data in enumerate(snapshot.extra)),
        frozen=tuple(converted(data, i) for i, data in enumerate(snapshot.frozen)),
    )
    first, second = step(problem, snapshot, strategy), step(problem, other, strategy)
    assert_allclose(first.full, second.full, atol=1e-9)
    for mine, theirs in zip(first.cheap, second.cheap, strict=True):
        assert_allclose(mine, theirs, atol=1e-9)


def test_with_the_papers_scaling_units_do_matter(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    """So the test above could fail."""
    problem = make_problem(ratios=(1.0, 1.0, 1.0))
    snapshot = make_snapshot(problem, n=40)
    strategy = replace(STRATEGIES["sbp-bo"], scaling="paper")
    other = replace(snapshot, F=snapshot.F * np.array([1e3, 1.0, 1e-3]))
    assert not np.array_equal(
        step(problem, snapshot, strategy).full, step(problem, other, strategy).full
    )


def test_pending_points_lessen_the_variance_and_nothing_else(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(ratios=(1.0, 1.0))
    plain = make_snapshot(problem)
    point = np.full((1, 3), 0.9)
    waiting = replace(plain, pending=(point, point[:0]))
    without, believed = (
        fit_models(problem, each, SBP_BO, np.random.default_rng(0))
        for each in (plain, waiting)
    )
    # Hyperparameters and skill come from real data only
    assert believed.reports == without.reports
    assert_array_equal(believed.X, without.X)
    assert_array_equal(believed.spread, without.spread)
    X = np.random.default_rng(1).random((20, 3))
    assert_allclose(believed.means(X), without.means(X), rtol=1e-6)
    before, after = (
        models.means_and_variances(point)[1] for models in (without, believed)
    )
    assert after[0, 0] < 1e-3 * before[0, 0]
    assert_allclose(after[0, 1], before[0, 1])


def test_the_belief_of_a_strategy_is_that_of_its_models(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(ratios=(1.0, 1.0))
    point = np.full((1, 3), 0.9)
    plain = make_snapshot(problem)
    waiting = replace(plain, pending=(point, point[:0]))
    pessimistic = replace(SBP_BO, belief="pessimistic")
    rng = np.random.default_rng
    before = fit_models(problem, plain, SBP_BO, rng(0))
    after = fit_models(problem, waiting, pessimistic, rng(0))
    mean, variance = before.means_and_variances(point)
    believed = after.means(point)
    assert_allclose(believed[0, 0], mean[0, 0] + np.sqrt(variance[0, 0]), rtol=1e-5)
    assert_allclose(believed[0, 1], mean[0, 1], rtol=1e-12)


def test_diagnostics_say_what_the_models_are_worth(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(ratios=(5.0, 5.0, 1.0))
    snapshot = make_snapshot(problem, n=60)
    diagnostics = step(problem, snapshot, STRATEGIES["sbp-bo"]).diagnostics
    for report in diagnostics.models:
        assert report is not None
        assert report.theta is not None
        assert len(report.theta) == 3
        assert report.skill is not None
        assert 0.9 < report.skill <= 1.0
        assert report.calibration is not None
        assert 0.5 < report.calibration <= 1.0
    # 60 of 60 settled
    assert diagnostics.alpha == pytest.approx(0.5 - 0.5 * np.cos(np.pi))
    assert all(0.0 <= low <= high < 1.0 for low, high in diagnostics.sbp)
    assert diagnostics.population > 3
    assert set(diagnostics.full_sources) == {"selected"}


def test_diagnostics_record_what_is_predicted_of_the_full_samples(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(ratios=(5.0, 5.0, 1.0))
    proposal = step(problem, make_snapshot(problem, n=60), STRATEGIES["sbp-bo"])
    reports = proposal.diagnostics.full_samples
    mean, variance = proposal.models.means_and_variances(proposal.full)
    assert_allclose([report.mean for report in reports], mean)
    assert_allclose([report.deviation for report in reports], np.sqrt(variance))


def test_skill_is_that_of_models_left_one_out(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    problem = make_problem(ratios=(1.0, 1.0))
    snapshot = make_snapshot(problem)
    report = step(problem, snapshot).diagnostics.models[0]
    assert report is not None
    y, left_out = snapshot.F[:, 0], []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        model = Kriging(theta0=np.array(report.theta), optimize=False).fit(
            snapshot.X[others], y[others]
        )
        left_out.append(model.mean(snapshot.X[i : i + 1])[0])
    assert report.skill == pytest.approx(
        1 - np.sum((y - left_out) ** 2) / np.sum((y - y.mean()) ** 2), abs=1e-6
    )


def test_sources_are_used_in_order(
    make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    """With a population of two, 27 extras must come from further down."""
    problem = make_problem(ratios=(10.0, 1.0))
    snapshot = make_snapshot(problem)
    rng = np.random.default_rng(0)
    models = fit_models(problem, snapshot, SBP_BO, rng)
    proposal = select(problem, snapshot, SBP_BO, models, rng.random((2, 3)), rng)
    order = ["selected", "population", "offspring", "latin"]
    for sources in (
        proposal.diagnostics.full_sources,
        proposal.diagnostics.cheap_sources[0],
    ):
        places = [order.index(source) for source in sources]
        assert all(a <= b for a, b in pairwise(places))
    assert "offspring" in proposal.diagnostics.cheap_sources[0]
    assert len(search(problem, SBP_BO, models, rng)) > 0


def test_search_goes_below_what_was_seen(
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
    evaluate: Callable[[Floats, int], Floats],
) -> None:
    problem = make_problem(ratios=(5.0, 1.0))
    snapshot = make_snapshot(problem, n=40, settled=5)
    F = evaluate(step(problem, snapshot, STRATEGIES["sbp-bo"]).full, 2)
    dominated = (snapshot.F[:, None] <= F[None]).all(axis=2).any(axis=0)
    assert dominated.sum() <= 1


@pytest.mark.parametrize("unit", [1e6, 1e4, 1e-4, 1e-12])
@pytest.mark.parametrize("told_by", ["extra", "stream"])
def test_the_unit_of_an_objective_that_is_constant_over_the_complete_samples_does_not_matter(
    unit: float, told_by: str, make_problem: MakeProblem, make_snapshot: MakeSnapshot
) -> None:
    """A plateau: only the cheap-only samples, or only the stream, show that the
    objective varies.
    """
    problem = make_problem(ratios=(4.0, 1.0))
    snapshot = make_snapshot(problem, n=40)
    extra, stream = snapshot.extra[0], snapshot.frozen[0]
    assert stream is not None
    assert np.ptp(extra.y) > 0.0

    def measured_in(scale: float) -> Snapshot:
        F = snapshot.F.copy()
        F[:, 0] = 2.0 * scale
        if told_by == "stream":
            return replace(
                snapshot,
                F=F,
                extra=(),
                extra_steps=(),
                frozen=(Data(stream.X, scale * stream.y), None),
            )
        return replace(
            snapshot,
            F=F,
            extra=(Data(extra.X, scale * extra.y), snapshot.extra[1]),
            frozen=(),
        )

    strategy = replace(STRATEGIES["sbp-bo"], keep_extra="all")
    assert_allclose(
        step(problem, measured_in(1.0), strategy).full,
        step(problem, measured_in(unit), strategy).full,
        atol=1e-9,
    )


def test_with_the_papers_scaling_the_vectors_are_adapted_by_the_range_of_the_training_set(
    make_problem: MakeProblem,
    make_snapshot: MakeSnapshot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = make_problem(ratios=(1.0, 1.0, 1.0))
    strategy = replace(STRATEGIES["sbp-bo"], scaling="paper", w_max=1)
    models = fit_models(
        problem, make_snapshot(problem, n=40), strategy, np.random.default_rng(0)
    )
    seen: list[Floats] = []
    real = importlib.import_module("app.optimizer.search.rvea").evolve

    def spy(
        variables: Any, means: Any, X: Floats, V0: Floats, V: Floats, *rest: Any
    ) -> Any:
        seen.append(V)
        return real(variables, means, X, V0, V, *rest)

    monkeypatch.setattr("app.optimizer.strategies.fit_search_select.evolve", spy)
    search(problem, strategy, models, np.random.default_rng(0))
    V0 = reference_vectors(3, "small")
    wanted = V0 * (models.F.max(axis=0) - models.F.min(axis=0))
    assert_allclose(
        seen[0], wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-12
    )


def test_a_basin_that_only_the_stream_found_is_searched(
    make_problem: MakeProblem,
) -> None:
    """The complete samples lie on a plateau of the first objective; its stream told of
    a basin in the middle.
    """
    problem, centre = make_problem(2, (5.0, 1.0)), np.array([0.53, 0.47])

    def basin(X: Floats) -> Floats:
        near = np.maximum(1.0 - ((X - centre) ** 2).sum(axis=1) / 0.3**2, 0.0)
        return np.asarray(2.0 - 1.9 * near**2)

    X = initial_design(problem, 21, np.random.default_rng(0))
    X = X[basin(X) == 2.0]
    streamed = np.vstack(
        [
            X,
            centre
            + 0.1 * np.random.default_rng(4).standard_normal((60, 2)).clip(-3.0, 3.0),
        ]
    )
    stream = Data(streamed, basin(streamed))
    snapshot = Snapshot(
        1,
        len(X),
        60,
        3,
        X,
        np.column_stack([basin(X), X.sum(axis=1)]),
        frozen=(stream, None),
    )
    for seed in range(3):
        found = basin(step(problem, snapshot, STRATEGIES["sbp-bo"], seed).cheap[0])
        assert np.sort(found)[4] < 1.5  # five of twelve
