"""What a step of `counterpoise` promises, whatever it is given; with Kriging, which is
fitted faster. `test_evidence_models` has the models by evidence.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.problem import Problem
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.samples import Samples
from app.optimizer.search.design import initial_design
from app.optimizer.search.novelty import is_new
from app.optimizer.snapshot import Data, Forecasts, Snapshot
from app.optimizer.space import snap
from app.optimizer.strategies.counterpoise.cheap_points import extra_counts
from app.optimizer.strategies.counterpoise.models.kriging_family import KRIGING
from app.optimizer.strategies.counterpoise.settings import DEFAULTS, MANY
from app.optimizer.strategies.counterpoise.step import (
    COUNTERPOISE,
    PromotionStep,
    propose_by_promotion,
)
from app.optimizer.strategies.initial_phase import initial_points

MakeProblem = Callable[..., Problem]
Evaluate = Callable[[Floats, int], Floats]
QUICK = replace(
    DEFAULTS, generations=3, brood=20, targets=30, samples=4, lattice="small"
)
FEW = settings(
    max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def pool_of(
    problem: Problem, points: tuple[Floats, ...], evaluate: Evaluate
) -> Samples:
    X = max(points, key=len)
    known = np.stack([np.arange(len(X)) < len(own) for own in points], axis=1)
    return Samples(
        X, np.where(known, evaluate(X, problem.m), 0.0), known, np.arange(len(X)) % 3
    )


def study(
    problem: Problem, evaluate: Evaluate, n: int = 15, **changes: object
) -> Snapshot:
    """A study about to take its fourth step, with a pool of cheap-only samples."""
    rng = np.random.default_rng(0)
    X = initial_design(problem, n, rng)
    pool = pool_of(problem, initial_points(problem, n, X, rng), evaluate)
    fields: dict[str, object] = {
        "step": 4,
        "settled": n,
        "budget": 60,
        "batch": 3,
        "X": X,
        "F": evaluate(X, problem.m),
    }
    return Snapshot(**{**fields, "pool": pool, **cheap_values(pool), **changes})  # type: ignore[arg-type]


def cheap_values(pool: Samples) -> dict[str, object]:
    columns = range(pool.F.shape[1])
    return {
        "extra": tuple(
            Data(pool.X[pool.known[:, j]], pool.F[pool.known[:, j], j]) for j in columns
        ),
        "extra_steps": tuple(pool.steps[pool.known[:, j]] for j in columns),
    }


def step(
    problem: Problem, snapshot: Snapshot, seed: int = 0, **changes: bool
) -> Proposal:
    chosen = replace(QUICK, **changes)  # type: ignore[arg-type]
    proposal = propose_by_promotion(
        problem, snapshot, chosen, np.random.default_rng(seed), KRIGING
    )
    check(problem, snapshot, proposal)
    return proposal


def check(problem: Problem, snapshot: Snapshot, proposal: Proposal) -> None:
    """Points are new and feasible, rows of the pool distinct, and every objective gets
    its number of evaluations.
    """
    extras = max(proposal.cheap, key=len)
    points = np.vstack([proposal.full, extras])
    assert_array_equal(snap(problem.variables, points), points)
    assert is_new(
        points, np.vstack([snapshot.X, snapshot.pool.X, snapshot.running.X])
    ).all()
    assert len(set(proposal.promoted.tolist())) == len(proposal.promoted)
    reports = proposal.diagnostics.full_samples
    assert [
        report.pool_row for report in reports if report.pool_row is not None
    ] == proposal.promoted.tolist()
    assert len(reports) == len(proposal.promoted) + len(proposal.full)
    if proposal.shortfall is None:
        assert len(reports) == snapshot.batch
        needed = len(proposal.full) + (~snapshot.pool.known[proposal.promoted]).sum(
            axis=0
        )
        assert_array_equal(
            [len(X) for X in proposal.cheap],
            extra_counts(problem, snapshot.batch, needed),
        )


@pytest.mark.parametrize(
    "ratios",
    [(5.0,), (1.0,), (5.0, 1.0), (7.0, 3.0, 1.0), (1.0, 1.0), (4.0, 4.0, 1.0, 1.0)],
)
def test_any_number_of_objectives_and_any_ratios(
    ratios: tuple[float, ...], make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(4, ratios)
    assert step(problem, study(problem, evaluate)).shortfall is None


def test_full_samples_are_promoted_from_the_pool(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(4, (5.0, 5.0, 1.0))
    proposal = step(problem, study(problem, evaluate))
    assert len(proposal.promoted) == 3
    assert [len(X) for X in proposal.cheap] == [15, 15, 0]
    assert_array_equal(proposal.cheap[0], proposal.cheap[1])
    for report in proposal.diagnostics.full_samples:
        assert report.deviation[:2] == (0.0, 0.0)
        assert report.deviation[2] > 0.0


def test_without_promotion_full_samples_are_new_points(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(4, (5.0, 5.0, 1.0))
    proposal = step(problem, study(problem, evaluate), promotion=False)
    assert (len(proposal.promoted), len(proposal.full)) == (0, 3)
    assert [len(X) for X in proposal.cheap] == [12, 12, 0]
    assert proposal.diagnostics.full_samples[0].gain is not None


def test_without_common_points_no_extra_has_two_objectives(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(4, (5.0, 3.0, 1.0))
    proposal = step(problem, study(problem, evaluate), common_points=False)
    points = np.vstack(proposal.cheap)
    assert len(np.unique(points, axis=0)) == len(points)
    sources = proposal.diagnostics.cheap_sources
    assert [len(own) for own in sources] == [len(X) for X in proposal.cheap]


def test_without_gain_the_choice_is_random_among_the_pool(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(4, (5.0, 5.0, 1.0))
    snapshot = study(problem, evaluate)
    first = step(problem, snapshot, by_gain=False)
    assert len(first.promoted) == 3
    assert {report.gain for report in first.diagnostics.full_samples} == {None}
    promoted = [
        step(problem, snapshot, seed, by_gain=False).promoted for seed in range(3)
    ]
    assert len({tuple(rows) for rows in promoted}) > 1


def test_without_cheap_objectives_new_points_compete(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(4, (1.0, 1.0))
    proposal = step(problem, study(problem, evaluate))
    assert (len(proposal.promoted), len(proposal.full)) == (0, 3)


@FEW
@given(
    units=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
    offsets=st.tuples(*[st.floats(-100.0, 100.0)] * 3),
)
def test_units_and_offsets_do_not_matter(
    units: tuple[float, ...],
    offsets: tuple[float, ...],
    make_problem: MakeProblem,
    evaluate: Evaluate,
) -> None:
    problem = make_problem(3, (5.0, 5.0, 1.0))
    a, b = 10.0 ** np.array(units), np.array(offsets)
    snapshot = study(problem, evaluate)
    pool = replace(
        snapshot.pool, F=np.where(snapshot.pool.known, a * (snapshot.pool.F + b), 0.0)
    )
    other = replace(snapshot, F=a * (snapshot.F + b), pool=pool, **cheap_values(pool))  # type: ignore[arg-type]
    first, second = step(problem, snapshot), step(problem, other)
    assert_array_equal(first.promoted, second.promoted)
    assert_allclose(first.full, second.full, atol=1e-5)
    assert_allclose(first.cheap[0], second.cheap[0], atol=1e-5)


def test_the_order_of_rows_does_not_matter(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(4, (5.0, 5.0, 1.0))
    snapshot = study(problem, evaluate)
    rng = np.random.default_rng(3)
    full, pool = rng.permutation(len(snapshot.X)), rng.permutation(len(snapshot.pool))
    shuffled = snapshot.pool.rows(pool)
    values = cheap_values(shuffled)
    other = replace(
        snapshot,
        X=snapshot.X[full],
        F=snapshot.F[full],
        pool=shuffled,
        **values,  # type: ignore[arg-type]
    )
    first, second = step(problem, snapshot), step(problem, other)
    assert_array_equal(first.promoted, pool[second.promoted])
    assert_array_equal(first.cheap[0], second.cheap[0])


def test_a_step_changes_nothing_that_it_was_given(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(4, (5.0, 1.0))
    snapshot = study(problem, evaluate)
    before = [
        array.copy()
        for array in (snapshot.X, snapshot.F, snapshot.pool.X, snapshot.pool.F)
    ]
    first, second = step(problem, snapshot), step(problem, snapshot)
    for array, copy in zip(
        (snapshot.X, snapshot.F, snapshot.pool.X, snapshot.pool.F), before, strict=True
    ):
        assert_array_equal(array, copy)
    assert_array_equal(first.promoted, second.promoted)


def test_running_samples_count_at_their_believed_values(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    """The best of the pool, once it is running, leaves less to gain for its neighbours,
    and is not promoted again.
    """
    problem = make_problem(3, (5.0, 1.0))
    snapshot = study(problem, evaluate)
    first = step(problem, snapshot)
    chosen = first.promoted
    rest = np.setdiff1d(np.arange(len(snapshot.pool)), chosen)
    running, pool = snapshot.pool.rows(chosen), snapshot.pool.rows(rest)
    pending = (snapshot.X[:0], running.X)
    other = replace(snapshot, running=running, pool=pool, pending=pending)
    second = step(problem, other)
    gains = [report.gain for report in second.diagnostics.full_samples]
    best = first.diagnostics.full_samples[0].gain
    assert best is not None
    assert all(gain is None or gain < best for gain in gains)


def test_partial_infeasible_and_few_data(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(3, (5.0, 1.0))
    full = study(problem, evaluate)
    points = np.random.default_rng(5).random((4, 3))
    partial = (
        Data(points[:2], evaluate(points[:2], 2)[:, 0]),
        Data(points[2:3], evaluate(points[2:3], 2)[:, 1]),
    )
    infeasible = (points[3:], points[3:])
    for kept in (0, 1, 2, 15):
        step(
            problem,
            replace(
                full,
                X=full.X[:kept],
                F=full.F[:kept],
                partial=partial,
                infeasible=infeasible,
            ),
        )


def test_nothing_told_at_all(make_problem: MakeProblem) -> None:
    problem = make_problem(3, (5.0, 1.0))
    proposal = step(problem, Snapshot(1, 0, 60, 3, np.empty((0, 3)), np.empty((0, 2))))
    assert len(proposal.full) == 3


def test_a_constant_objective(make_problem: MakeProblem, evaluate: Evaluate) -> None:
    problem = make_problem(3, (5.0, 1.0))
    snapshot = study(problem, evaluate)
    F = snapshot.F.copy()
    F[:, 1] = 7.0
    assert step(problem, replace(snapshot, F=F)).shortfall is None


def test_integers_and_a_space_that_runs_out(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(2, (5.0, 1.0), integer_levels=(4, 5))
    snapshot = study(problem, evaluate, n=5)
    while len(snapshot.pool) > 0:
        proposal = step(problem, snapshot)
        left = np.setdiff1d(np.arange(len(snapshot.pool)), proposal.promoted)
        X = np.vstack([snapshot.X, snapshot.pool.X[proposal.promoted], proposal.full])
        pool = snapshot.pool.rows(left)
        taken = tuple(
            np.vstack([own, max(proposal.cheap, key=len)]) for own in snapshot.taken
        )
        snapshot = replace(
            snapshot,
            X=X,
            F=evaluate(X, 2),
            pool=pool,
            taken=taken,
            **cheap_values(pool),  # type: ignore[arg-type]
        )
    assert step(problem, snapshot).shortfall is not None


def test_a_co_model_is_used_when_its_record_is_better(
    make_problem: MakeProblem, evaluate: Evaluate
) -> None:
    problem = make_problem(3, (5.0, 1.0))
    nothing, told = np.empty(0), np.zeros(6)
    record = (
        Forecasts(nothing, nothing, nothing),
        Forecasts(told, told + 1.0, told + 0.5),
    )
    plain = step(problem, study(problem, evaluate)).diagnostics
    better = step(problem, study(problem, evaluate, forecasts=record)).diagnostics
    assert plain.co_models[1] is not None
    assert better.co_models[1] is not None
    assert (plain.co_models[0], plain.co_models[1].used, better.co_models[1].used) == (
        None,
        False,
        True,
    )
    assert (better.co_models[1].plain_error, better.co_models[1].co_error) == (6.0, 3.0)
    report = better.full_samples[0]
    assert report.mean[1] == report.co[1] != report.plain[1]


def test_units_matter_to_many_objectives_of_the_paper_only() -> None:
    step = PromotionStep()
    raw = replace(COUNTERPOISE, scaling="paper")
    assert step.settings_of(10, raw) == MANY
    assert step.settings_of(10, COUNTERPOISE) == replace(MANY, common_unit=False)
    assert step.settings_of(7, raw) == DEFAULTS
