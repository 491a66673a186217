"""Limits, requirements and categories with every strategy of the service."""

from typing import get_args

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.problem import Constraint, Objective, Problem, Variable
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.propose import propose
from app.optimizer.samples import Samples
from app.optimizer.search.design import initial_design
from app.optimizer.search.requirements import satisfied
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import decode, snap
from app.optimizer.strategies.catalogue import STRATEGIES
from counterpoise.wire.requirements.parser import parse_requirement
from counterpoise.wire.specification import Strategy

# `mht` takes floats only
ALL = tuple({*get_args(Strategy), "counterpoise"} - {"mht"})
# One of each way to propose
NAMES = ("sbp-bo", "k-rvea", "rvea", "random", "counterpoise")
RNG = np.random.default_rng
VARIABLES = (
    Variable("x", 0.0, 1.0),
    Variable("y", 0.0, 1.0),
    Variable("k", 1, 4, "int"),
    Variable("c", 0, 2, "categorical"),
)
REQUIREMENT = parse_requirement("x + k / 4 <= 1.5")


def problem(unit: float = 1.0, upper: float | None = None) -> Problem:
    """A cheap objective, a slow one, a slow constraint and a cheap one."""
    return Problem(
        VARIABLES,
        (Objective("f", upper=upper), Objective("g")),
        (3.0, 1.0, 1.0, 2.0),
        requirements=(REQUIREMENT,),
        constraints=(Constraint("sum", upper=1.2 * unit), Constraint("d", lower=-0.8)),
    )


def values(U: Floats, unit: float = 1.0) -> Floats:
    x, y, k, c = decode(VARIABLES, U).T
    offset = np.array([0.3, 0.0, 0.1])[c.astype(int)]
    f = (x - 1.0) ** 2 + y**2 + offset
    g = x**2 + (y - 1.0) ** 2 + 0.05 * k
    return np.column_stack([f, g, unit * (x + y + 2 * offset), x - y])


def is_feasible(U: Floats) -> np.ndarray:
    Y = values(U)
    return np.asarray((Y[:, 2] <= 1.2) & (Y[:, 3] >= -0.8))


def told(declared: Problem, unit: float = 1.0) -> Snapshot:
    X = initial_design(declared, 24, RNG(1))
    pool = initial_design(declared, 12, RNG(2))
    Y = values(pool, unit)
    known = np.tile([True, False, False, True], (12, 1))
    nothing = Data(X[:0], np.empty(0))
    return Snapshot(
        step=2,
        settled=24,
        budget=60,
        batch=3,
        X=X,
        F=values(X, unit),
        extra=(Data(pool, Y[:, 0]), nothing, nothing, Data(pool, Y[:, 3])),
        pool=Samples(pool, np.where(known, Y, 0.0), known, np.ones(12, dtype=int)),
        taken=(np.vstack([X, pool]), X, X, np.vstack([X, pool])),
    )


def step(name: str, unit: float = 1.0, upper: float | None = None) -> Proposal:
    declared = problem(unit, upper)
    return propose(declared, told(declared, unit), STRATEGIES[name], RNG(3))


def full_points(proposal: Proposal) -> Floats:
    pool = told(problem()).pool.X[proposal.promoted]
    return np.vstack([proposal.full, pool])


@pytest.mark.parametrize("name", sorted(ALL))
def test_proposals_satisfy_requirements_and_keep_limits_that_the_data_show(
    name: str,
) -> None:
    declared, proposal = problem(), step(name)
    assert len(full_points(proposal)) == 3
    assert len(proposal.cheap) == 4
    assert len(proposal.cheap[1]) == len(proposal.cheap[2]) == 0
    # Those of promoted samples are known: these evaluations become extras
    assert len(proposal.cheap[0]) in (0, 6, 6 + len(proposal.promoted))
    assert len(proposal.cheap[3]) in (0, 3, 3 + len(proposal.promoted))
    assert len(proposal.diagnostics.models) in (0, 4)
    for points in (full_points(proposal), *proposal.cheap):
        assert satisfied(declared.variables, points).all()
        assert_array_equal(snap(declared.variables, points), points)
    everything = np.vstack([told(declared).X, full_points(proposal)])
    assert len(np.unique(everything, axis=0)) == len(everything)
    if name != "random":
        points = np.vstack([full_points(proposal), *proposal.cheap])
        assert is_feasible(points).mean() >= 2 / 3


def test_the_data_of_these_tests_break_the_limits_often() -> None:
    assert is_feasible(told(problem()).X).mean() < 0.65


@pytest.mark.parametrize("name", ["sbp-bo", "k-rvea", "counterpoise"])
def test_another_unit_of_a_constraint_changes_nothing(name: str) -> None:
    proposal, other = step(name), step(name, unit=2.0**20)
    assert_array_equal(other.promoted, proposal.promoted)
    assert_allclose(other.full, proposal.full, atol=1e-9)
    for mine, theirs in zip(proposal.cheap, other.cheap, strict=True):
        assert_allclose(theirs, mine, atol=1e-9)


@pytest.mark.parametrize("name", ["sbp-bo", "rvea", "counterpoise"])
def test_an_objective_can_have_a_limit_too(name: str) -> None:
    free, limited = step(name), step(name, upper=0.5)

    def excess(proposal: Proposal) -> float:
        return float(np.maximum(values(full_points(proposal))[:, 0] - 0.5, 0.0).sum())

    assert excess(limited) <= min(excess(free), 0.1)


@pytest.mark.parametrize("name", NAMES)
def test_without_any_feasible_sample_a_whole_batch_is_proposed(name: str) -> None:
    declared = problem()
    snapshot = told(declared)
    F = snapshot.F.copy()
    F[:, 2] += 5.0
    nothing = Snapshot(2, 24, 60, 3, snapshot.X, F)
    proposal = propose(declared, nothing, STRATEGIES[name], RNG(3))
    assert len(proposal.full) == 3


@pytest.mark.parametrize("name", NAMES)
def test_infeasible_results_are_known_to_every_objective(name: str) -> None:
    declared = Problem(VARIABLES, (Objective("f"), Objective("g")), (3.0, 1.0))
    X = initial_design(declared, 40, RNG(1))
    bad = ~is_feasible(X)
    snapshot = Snapshot(
        2, 40, 60, 3, X[~bad], values(X[~bad])[:, :2], infeasible=(X[bad], X[:0])
    )
    proposal = propose(declared, snapshot, STRATEGIES[name], RNG(3))
    assert len(proposal.full) == 3
    if name != "random":
        assert is_feasible(proposal.full).sum() >= 2


@pytest.mark.parametrize("name", NAMES)
def test_categories_only_are_proposed_to_the_last_one(name: str) -> None:
    choices = (Variable("a", 0, 2, "categorical"), Variable("b", 0, 1, "categorical"))
    declared = Problem(choices, (Objective("f"), Objective("g")), (1.0, 1.0))
    X = initial_design(declared, 6, RNG(0))
    snapshot = Snapshot(1, 4, 20, 2, X[:4], X[:4, :2])
    proposal = propose(declared, snapshot, STRATEGIES[name], RNG(0))
    everything = np.vstack([X[:4], proposal.full])
    assert len(np.unique(everything, axis=0)) == 6
