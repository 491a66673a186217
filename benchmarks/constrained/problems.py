"""Constrained test problems: pymoo's own, and one with a hidden constraint.

m objectives, minimised; constraints g <= 0; a hidden constraint is only seen as a run
that reports `infeasible`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pymoo.core.problem import Problem as PymooProblem
from pymoo.problems import get_problem

from app.optimizer.problem import Constraint, Objective, Problem, Variable
from benchmarks.problems.dtlz import DTLZ

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
RATIO = 5.0  # of every objective but the last


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedProblem:
    name: str
    low: Array  # (d,)
    high: Array  # (d,)
    m: int
    constraints: int
    # X (n, d) in natural units -> F (n, m), G (n, c)
    evaluate: Callable[[Array], tuple[Array, Array]]
    # Which rows of X (n, d) a run of the first objective reports as infeasible
    hidden: Callable[[Array], Bools] | None = None

    @property
    def d(self) -> int:
        return len(self.low)

    @property
    def n(self) -> int:
        return 11 * self.d - 1

    def declare(self, *, limits: bool = True) -> Problem:
        """As the optimiser knows it: constraints come out of the slow run. Without
        `limits`, as a user without them has to declare it.
        """
        variables = tuple(
            Variable(f"x{k + 1}", float(low), float(high))
            for k, (low, high) in enumerate(zip(self.low, self.high, strict=True))
        )
        objectives = tuple(Objective(f"f{i + 1}") for i in range(self.m))
        count = self.constraints if limits else 0
        constraints = tuple(Constraint(f"g{i + 1}", upper=0.0) for i in range(count))
        ratios = (*[RATIO] * (self.m - 1), *[1.0] * (1 + count))
        return Problem(variables, objectives, ratios, constraints=constraints)

    def is_feasible(self, X: Array) -> Bools:
        _, G = self.evaluate(X)
        feasible = np.asarray((G <= 0.0).all(axis=1))
        return feasible if self.hidden is None else feasible & ~self.hidden(X)


def constrained_problem(name: str) -> ConstrainedProblem:
    return PROBLEMS[name](name)


def _of_pymoo(name: str, **options: int) -> ConstrainedProblem:
    problem: PymooProblem = get_problem(name, **options)

    def evaluate(X: Array) -> tuple[Array, Array]:
        F, G = problem.evaluate(X, return_values_of=["F", "G"])
        return np.asarray(F, dtype=float), np.asarray(G, dtype=float)

    return ConstrainedProblem(
        name,
        np.asarray(problem.xl, dtype=float),
        np.asarray(problem.xu, dtype=float),
        problem.n_obj,
        problem.n_ieq_constr,
        evaluate,
    )


def _hidden(name: str) -> ConstrainedProblem:
    """DTLZ2 where x1 + x2 <= 1."""

    def evaluate(X: Array) -> tuple[Array, Array]:
        return DTLZ["dtlz2"](X, 3), np.empty((len(X), 0))

    d = 6
    return ConstrainedProblem(
        name,
        np.zeros(d),
        np.ones(d),
        3,
        0,
        evaluate,
        lambda X: np.asarray(X[:, 0] + X[:, 1] > 1.0),
    )


PROBLEMS: dict[str, Callable[[str], ConstrainedProblem]] = {
    "c2dtlz2": lambda name: _of_pymoo(name, n_var=7, n_obj=3),
    "c3dtlz4": lambda name: _of_pymoo(name, n_var=7, n_obj=3),
    "osy": _of_pymoo,
    "welded_beam": _of_pymoo,
    "hidden": _hidden,
}
