"""Random search, and pymoo's NSGA-III with the same number of full evaluations."""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.core.problem import Problem as PymooProblem
from pymoo.optimize import minimize
from pymoo.util.ref_dirs import get_reference_directions

from app.optimizer.search.design import initial_design
from app.optimizer.space import decode
from benchmarks.constrained.problems import ConstrainedProblem, constrained_problem

Array = NDArray[np.float64]
# Divisions of NSGA-III's directions by m: 21 and 28 of them, so that it has several
# generations
PARTITIONS = {2: 20, 3: 6}
REFERENCE_POPULATION, REFERENCE_GENERATIONS = 200, 150


class AsPymoo(PymooProblem):  # type: ignore[misc]  # pymoo is untyped
    """Remembers every point that was evaluated. A hidden constraint is a violation of 1."""

    def __init__(self, problem: ConstrainedProblem) -> None:
        hidden = 0 if problem.hidden is None else 1
        super().__init__(
            n_var=problem.d,
            n_obj=problem.m,
            n_ieq_constr=problem.constraints + hidden,
            xl=problem.low,
            xu=problem.high,
        )
        self.problem = problem
        self.seen: list[Array] = []

    def _evaluate(self, x: Array, out: dict[str, Array], *_: object) -> None:
        self.seen.append(x)
        F, G = self.problem.evaluate(x)
        if self.problem.hidden is not None:
            G = np.column_stack([G, self.problem.hidden(x).astype(float)])
        out["F"], out["G"] = F, G


def random_search(problem: ConstrainedProblem, seed: int, search: int) -> Array:
    declared = problem.declare()
    rng = np.random.default_rng(seed)
    design = decode(declared.variables, initial_design(declared, problem.n, rng))
    more = rng.uniform(problem.low, problem.high, (search, problem.d))
    return np.vstack([design, more])


def nsga3(problem: ConstrainedProblem, seed: int, search: int) -> Array:
    directions = get_reference_directions(
        "das-dennis", problem.m, n_partitions=PARTITIONS[problem.m]
    )
    task = AsPymoo(problem)
    budget = problem.n + search
    minimize(task, NSGA3(directions), ("n_eval", budget), seed=seed)
    return np.vstack(task.seen)[:budget]


@cache
def reference_front(name: str) -> Array:
    """The feasible nondominated set of a long run of NSGA-II: what scores are related
    to, not a target.
    """
    problem = constrained_problem(name)
    return long_run(problem, REFERENCE_POPULATION, REFERENCE_GENERATIONS)


def long_run(problem: ConstrainedProblem, population: int, generations: int) -> Array:
    """The feasible nondominated set that NSGA-II ends with, (N, m)."""
    algorithm = NSGA2(pop_size=population)
    result = minimize(AsPymoo(problem), algorithm, ("n_gen", generations), seed=1)
    return np.asarray(result.F, dtype=float)
