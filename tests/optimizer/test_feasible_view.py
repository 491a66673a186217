"""A problem with limits as strategies without a rule for them see it."""

from dataclasses import replace
from math import e, inf, log

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from app.optimizer.feasible_view import Tail, divide, feasible_view, tail_of
from app.optimizer.limits import Limit
from app.optimizer.problem import Constraint, Objective, Problem, Variable
from app.optimizer.samples import Samples
from app.optimizer.snapshot import Data, Snapshot

PROBLEM = Problem(
    (Variable("x", 0.0, 1.0),),
    (Objective("f", upper=50.0), Objective("g", "maximize")),
    (4.0, 1.0, 2.0),
    constraints=(Constraint("c", upper=1.0),),
)
X = np.array([[0.1], [0.2], [0.3], [0.4]])
# Of the first objective 2 to 4 is feasible; the last row breaks its limit too
F = np.array([[2.0, -1.0, 0.5], [4.0, -3.0, 1.0], [9.0, -2.0, 2.0], [60.0, -2.0, 9.0]])


def snapshot(**changes: object) -> Snapshot:
    fields: dict[str, object] = {
        "step": 1, "settled": 4, "budget": 9, "batch": 3, "X": X, "F": F,
    }  # fmt: skip
    return Snapshot(**{**fields, **changes})  # type: ignore[arg-type]


def test_values_beyond_the_worst_feasible_one_are_compressed() -> None:
    tail = Tail(worst=4.0, spread=2.0)
    y = np.array([-9.0, 4.0, 6.0, 4.0 + 2.0 * (e**3 - 1.0)])
    # 4 + 2 log(1 + (y - 4) / 2)
    assert_allclose(tail.apply(y), [-9.0, 4.0, 4.0 + 2.0 * log(2.0), 10.0])
    assert tail.limit(Limit(3.0, 6.0)) == Limit(3.0, 4.0 + 2.0 * log(2.0))
    assert tail.limit(Limit()) == Limit(-inf, inf)
    assert tail_of(np.array([2.0, 4.0])) == tail
    assert_array_equal(tail_of(np.array([2.0, 2.0])).apply(y), y)


def test_the_samples_that_keep_the_limits_are_the_data() -> None:
    nothing = Data(X[:0], np.empty(0))
    told = snapshot(
        extra=(Data(X[:1], np.array([6.0])), nothing, nothing),
        infeasible=(np.array([[0.9]]), X[:0], X[:0]),
        pool=Samples(
            np.array([[0.5]]),
            np.array([[6.0, 0.0, 7.0]]),
            np.array([[True, False, True]]),
            np.array([1]),
        ),
    )
    view = feasible_view(PROBLEM, told)
    assert view.problem.constraints == ()
    assert view.problem.cheap == (0,)
    assert_array_equal(view.snapshot.X, X[:2])
    assert_array_equal(view.snapshot.F, F[:2, :2])
    # The others train the models of their own objectives, without their tails
    f, g = view.snapshot.partial
    assert_array_equal(f.X, X[2:])
    assert_allclose(f.y, 4.0 + 2.0 * np.log1p((np.array([9.0, 60.0]) - 4.0) / 2.0))
    assert_array_equal(g.y, [-2.0, -2.0])
    compressed = 4.0 + 2.0 * log(2.0)
    assert_allclose(view.snapshot.extra[0].y, [compressed])
    assert_allclose(view.snapshot.pool.F, [[compressed, 0.0]])
    assert_array_equal(view.others, X[2:])
    assert view.limits[0].upper == 4.0 + 2.0 * np.log1p(46.0 / 2.0)
    # An infeasible point is no value, but must not be proposed again
    assert not view.snapshot.has_infeasible
    assert all(0.9 in points for points in view.snapshot.taken)


def test_with_too_few_feasible_samples_the_nearest_join_them() -> None:
    # Violations in units of the ranges: 1 / 8.5 and 10 / 58 + 8 / 8.5
    assert_array_equal(divide(PROBLEM, snapshot(), 3)[0], [0, 1, 2])
    kept, left = divide(PROBLEM, snapshot(), 0)
    assert (list(kept), list(left)) == ([0, 1], [2, 3])
    infeasible = snapshot(X=X[2:], F=F[2:])
    assert len(feasible_view(PROBLEM, infeasible).snapshot.X) == 2
    assert len(feasible_view(PROBLEM, infeasible, least=0).snapshot.X) == 0
    nothing = feasible_view(PROBLEM, snapshot(X=X[:0], F=F[:0]))
    assert nothing.snapshot.F.shape == (0, 2)


def test_without_limits_nothing_is_changed() -> None:
    free = replace(PROBLEM, constraints=(), ratios=(4.0, 1.0), objectives=(
        Objective("f"), Objective("g"),
    ))  # fmt: skip
    told = snapshot(F=F[:, :2])
    view = feasible_view(free, told)
    assert view.snapshot is told
    assert view.problem is free
