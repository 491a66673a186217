"""pymoo's evolutionary algorithms; the design is their first population."""

from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.algorithms.moo.rvea import RVEA
from pymoo.core.evaluator import Evaluator
from pymoo.core.problem import Problem
from pymoo.problems.static import StaticProblem
from pymoo.termination import get_termination

from app.optimizer.search.reference_vectors import SMALL, layers, simplex_lattice
from benchmarks.problems.catalogue import Instance

Array = NDArray[np.float64]


def nsga3(
    instance: Instance, X: Array, budget: int, seed: int
) -> tuple[Array, list[float]]:
    directions = simplex_lattice(instance.m, layers(instance.m, SMALL))
    algorithm = NSGA3(ref_dirs=directions, pop_size=max(len(X), len(directions)))
    return _run(algorithm, instance, X, budget, seed)


def rvea(
    instance: Instance, X: Array, budget: int, seed: int
) -> tuple[Array, list[float]]:
    directions = simplex_lattice(instance.m, layers(instance.m, SMALL))
    algorithm = RVEA(ref_dirs=directions, pop_size=max(len(X), len(directions)))
    return _run(algorithm, instance, X, budget, seed)


def _run(
    algorithm: Any, instance: Instance, X: Array, budget: int, seed: int
) -> tuple[Array, list[float]]:
    algorithm.initialization.sampling = X
    generations = max(1, -(-budget // len(X)))
    problem = Problem(n_var=instance.d, n_obj=instance.m, xl=0.0, xu=1.0)
    algorithm.setup(
        problem, termination=get_termination("n_gen", generations), seed=seed
    )
    F = np.empty((0, instance.m))
    seconds = []
    while len(F) < budget:
        before = process_time()
        population = algorithm.ask()
        seconds.append(process_time() - before)
        values = instance.evaluate(np.asarray(population.get("X"), dtype=float))
        Evaluator().eval(StaticProblem(problem, F=values), population)
        algorithm.tell(infills=population)
        F = np.vstack([F, values])
    return F[:budget], seconds
