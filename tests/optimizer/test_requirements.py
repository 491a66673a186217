import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.arrays import Floats
from app.optimizer.problem import Objective, Problem, Space, Variable
from app.optimizer.propose import propose
from app.optimizer.search.design import (
    initial_design,
    latin,
    share_satisfied,
)
from app.optimizer.search.genetic_algorithm import next_generation
from app.optimizer.search.operators import breed
from app.optimizer.search.requirements import holds, pull_back, satisfied
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.space import decode, encode
from app.optimizer.strategies.catalogue import STRATEGIES
from counterpoise.wire.requirements.parser import parse_requirement

MakeSnapshot = Callable[..., Snapshot]

X1, X2 = Variable("x1", 0.0, 1.0), Variable("x2", 0.0, 1.0)
K = Variable("k", 1, 4, "int")
CATEGORY = Variable("c", 0, 2, "categorical", numbers=(10.0, 20.0, 40.0))
HALF = parse_requirement("x1 + x2 <= 1")
MIXED = Problem(
    (X1, X2, K, CATEGORY),
    (Objective("f"), Objective("g")),
    (3.0, 1.0),
    requirements=(HALF, parse_requirement("k * x1 <= 2 - c / 50")),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + 2 * b <= 8", [True, False]),
        ("a - b - 1 > -4", [True, False]),
        ("a / b / 2 < 0.2", [True, False]),
        ("2 ** a ** 2 >= 16", [False, True]),
        ("-a ** 2 < -1", [False, True]),
        ("abs(a - b) <= 2", [True, False]),
        ("sqrt(b) > 2", [False, True]),
        ("exp(a) * log(b) > 5", [False, True]),
        ("sin(a) > cos(b)", [True, True]),
        ("min(a, b, 2) < max(a, 2)", [True, False]),
        ("1 <= a < 2", [True, False]),
        # Not finite: does not hold, whatever the comparison
        ("sqrt(a - 1.5) >= 0", [False, True]),
        ("1 / (a - 1) > 0", [False, True]),
        ("log(a - 1) < 1", [False, True]),
        ("exp(1000 * a) > 1", [False, False]),
    ],
)
def test_expressions_computed_by_hand(text: str, expected: list[bool]) -> None:
    columns = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 5.0])}
    assert_array_equal(holds(parse_requirement(text), columns), expected)


def test_requirements_compute_with_users_units_and_the_numbers_of_choices() -> None:
    length = Variable("length", 1.0, 100.0, scale="log")
    space = Space((length, CATEGORY), [parse_requirement("length * c <= 400")])
    X = np.array([[9.9, 2.0], [10.1, 2.0], [19.9, 1.0], [40.1, 0.0]])
    U = encode(space, X)
    assert_array_equal(satisfied(space, U), [True, False, True, False])


def test_a_child_is_pulled_back_to_the_border_and_no_further() -> None:
    space = Space((X1, X2), [HALF])
    children = np.array([[1.0, 0.8], [0.3, 0.3]])
    parents = np.array([[0.0, 0.0], [0.0, 0.0]])
    pulled = pull_back(space, children, parents)
    assert_allclose(pulled, [[1 / 1.8, 0.8 / 1.8], [0.3, 0.3]], atol=1e-5)
    assert satisfied(space, pulled).all()


def test_a_pull_towards_a_parent_that_violates_too_returns_the_parent() -> None:
    space = Space((X1, X2), [HALF])
    child, parent = np.array([[1.0, 0.9]]), np.array([[0.9, 0.9]])
    assert_array_equal(pull_back(space, child, parent), parent)


def test_of_two_parents_the_one_that_satisfies_is_the_anchor() -> None:
    space = Space((X1, X2), [HALF])
    good, bad = np.full((40, 2), 0.2), np.full((40, 2), 0.95)
    children = breed(space, bad, good, np.random.default_rng(0))
    assert satisfied(space, children).all()


def test_the_share_is_exact_where_the_space_can_be_enumerated() -> None:
    levels = tuple(Variable(name, 1, 10, "int") for name in ("a", "b"))
    space = Space(levels, [parse_requirement("a + b <= 3")])
    assert share_satisfied(space, np.random.default_rng(0)) == 0.03
    halved = Space((X1, X2), [HALF])
    share = share_satisfied(halved, np.random.default_rng(0))
    assert share == pytest.approx(0.5, abs=0.01)


def test_a_design_in_a_thousandth_of_the_space_is_complete() -> None:
    requirement = parse_requirement("max(x1, x2) <= 0.03")
    space = Space((X1, X2), [requirement])
    design = latin(space, 30, np.random.default_rng(1))
    assert len(design) == 30
    assert satisfied(space, design).all()
    assert len(np.unique(design, axis=0)) == 30


def test_an_empty_space_has_an_empty_design() -> None:
    space = Space((X1,), [parse_requirement("x1 >= 2")])
    assert latin(space, 5, np.random.default_rng(0)).shape == (0, 1)


numbers = st.floats(-3.0, 3.0, allow_nan=False)


@settings(max_examples=40)
@given(a=numbers, b=numbers, power=st.sampled_from([1, 2]), seed=st.integers(0, 99))
def test_no_design_stream_or_child_violates_a_requirement(
    a: float, b: float, power: int, seed: int
) -> None:
    text = f"{a} * x1 ** {power} + {b} * x2 * k <= {a / 3 + b / 2} + c / 100"
    problem = Problem(
        MIXED.variables,
        MIXED.objectives,
        MIXED.ratios,
        requirements=(parse_requirement(text),),
    )
    space, rng = problem.variables, np.random.default_rng(seed)
    if share_satisfied(space, rng) < 0.01:
        return
    design = initial_design(problem, 20, rng)
    data = Data(design, design.sum(axis=1))
    ids = np.arange(len(design))
    stream = next_generation(problem, data, ids, 30, rng, design[:0])
    children = breed(space, design, design[::-1], rng)
    for points in (design, stream, children):
        assert len(points) >= 20
        assert all(allowed(text, x) for x in decode(space, points))


def allowed(text: str, x: Floats) -> bool:
    """By Python itself, in the user's units."""
    x1, x2, k, choice = (float(value) for value in x)
    names = {"x1": x1, "x2": x2, "k": k, "c": (10.0, 20.0, 40.0)[int(choice)]}
    return bool(eval(text, {}, names))  # noqa: S307


@pytest.mark.parametrize("name", ["sbp-bo", "bo-aaf", "sbp-bo-r", "sbp-bo-c"])
def test_no_proposal_violates_a_requirement(
    name: str, make_snapshot: MakeSnapshot
) -> None:
    snapshot = make_snapshot(MIXED, n=20, stream=30)
    proposal = propose(MIXED, snapshot, STRATEGIES[name], np.random.default_rng(3))
    assert len(proposal.full) == snapshot.batch
    assert len(proposal.cheap[0]) == 2 * snapshot.batch
    for points in (proposal.full, *proposal.cheap):
        assert satisfied(MIXED.variables, points).all()


def test_imported_points_that_violate_have_no_children_that_do(
    make_snapshot: MakeSnapshot,
) -> None:
    """Nothing but violating points is known: what is proposed comes from designs."""
    problem = Problem((X1, X2), MIXED.objectives, (1.0, 1.0), requirements=(HALF,))
    bad = np.random.default_rng(0).uniform(0.6, 1.0, (12, 2))
    snapshot = make_snapshot(problem, X=bad, F=bad)
    proposal = propose(
        problem, snapshot, STRATEGIES["sbp-bo"], np.random.default_rng(0)
    )
    assert len(proposal.full) == snapshot.batch
    assert satisfied(problem.variables, proposal.full).all()


def test_a_space_survives_a_copy_to_another_process() -> None:
    space = pickle.loads(pickle.dumps(MIXED.variables))  # noqa: S301
    assert space == MIXED.variables
    assert space.requirements == MIXED.requirements
    assert math.isclose(
        share_satisfied(space, np.random.default_rng(0)), 0.4, abs_tol=0.2
    )
