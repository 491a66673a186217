"""Problems of pymoo as functions of a worker."""

import numpy as np
import pytest
from pymoo.problems import get_problem
from pymoo.problems.functional import FunctionalProblem

from counterpoise.adapters.pymoo import function, functions, outputs, variables


def test_a_whole_problem_with_constraints() -> None:
    problem = get_problem("bnh")
    assert outputs(problem) == ["f0", "f1", "g0", "g1"]
    assert [(v["low"], v["high"]) for v in variables(problem)] == [(0, 5), (0, 3)]
    x = {"x0": 1.0, "x1": 2.0}
    expected = problem.evaluate(np.array([[1.0, 2.0]]))
    values = function(problem)(x)
    assert list(values.values()) == pytest.approx([*expected[0][0], *expected[1][0]])
    assert values["f0"] == 4 * 1.0 + 4 * 4.0
    names = ["cost", "error", "c1", "c2"]
    assert list(function(problem, names)(x)) == names


def test_one_function_per_objective() -> None:
    problem = FunctionalProblem(
        2, [lambda x: x.sum(), lambda x: x.prod()], xl=0.0, xu=2.0
    )
    assert {
        name: f({"x0": 3.0, "x1": 2.0}) for name, f in functions(problem).items()
    } == {
        "f0": 5.0,
        "f1": 6.0,
    }
