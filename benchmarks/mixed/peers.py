"""Random search, and pymoo's genetic algorithm for mixed variables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.nsga2 import RankAndCrowdingSurvival
from pymoo.core.mixed import MixedVariableGA
from pymoo.core.problem import ElementwiseProblem
from pymoo.core.variable import Choice, Integer, Real
from pymoo.optimize import minimize

from app.optimizer.problem import Variable
from app.optimizer.search.design import initial_design
from app.optimizer.space import decode
from benchmarks.mixed.problems import MixedProblem

Array = NDArray[np.float64]
POPULATION = 20


class AsPymoo(ElementwiseProblem):  # type: ignore[misc]  # pymoo is untyped
    """Remembers every point that was evaluated."""

    def __init__(self, problem: MixedProblem) -> None:
        declared = {
            variable.name: _pymoo_variable(variable) for variable in problem.variables
        }
        super().__init__(vars=declared, n_obj=problem.m)
        self.problem = problem
        self.seen: list[list[float]] = []

    def _evaluate(self, x: dict[str, Any], out: dict[str, Any], *_: object) -> None:
        point = [float(x[variable.name]) for variable in self.problem.variables]
        self.seen.append(point)
        out["F"] = self.problem.values(np.array([point]))[0]


def _pymoo_variable(variable: Variable) -> Any:
    bounds = (variable.low, variable.high)
    if variable.kind == "categorical":
        return Choice(options=list(range(variable.width)))
    return Real(bounds=bounds) if variable.kind == "float" else Integer(bounds=bounds)


def random_search(problem: MixedProblem, seed: int, search: int) -> Array:
    """A design, then others: all of them Latin hypercubes."""
    declared = problem.declare()
    rng = np.random.default_rng(seed)
    design = initial_design(declared, problem.n, rng)
    more = initial_design(declared, search, rng, design)
    return decode(declared.variables, np.vstack([design, more]))


def mixed_variable_ga(problem: MixedProblem, seed: int, search: int) -> Array:
    task = AsPymoo(problem)
    budget = problem.n + search
    algorithm = MixedVariableGA(pop_size=POPULATION, survival=RankAndCrowdingSurvival())
    minimize(task, algorithm, ("n_eval", budget), seed=seed)
    return np.array(task.seen)[:budget]
