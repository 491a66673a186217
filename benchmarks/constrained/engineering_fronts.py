"""Reference fronts of the engineering problems: long runs of NSGA-II, stored because
they take a minute. `python -m benchmarks.constrained.engineering_fronts` writes them.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.constrained.peers import long_run
from benchmarks.constrained.problems import ConstrainedProblem
from benchmarks.problems.engineering import ENGINEERING
from benchmarks.problems.fronts import STORED

Array = NDArray[np.float64]
POPULATION, GENERATIONS = 500, 300


def front_of(name: str, population: int, generations: int) -> Array:
    """(N, m), sorted."""
    problem = ENGINEERING[name]

    def evaluate(X: Array) -> tuple[Array, Array]:
        return problem.evaluate(X), np.empty((len(X), 0))

    unlimited = ConstrainedProblem(
        name, np.zeros(problem.d), np.ones(problem.d), problem.m, 0, evaluate
    )
    front = long_run(unlimited, population, generations)
    return np.unique(front, axis=0)


if __name__ == "__main__":
    STORED.mkdir(exist_ok=True)
    for name in ENGINEERING:
        front = front_of(name, POPULATION, GENERATIONS)
        np.savetxt(STORED / f"{name}.csv", front, fmt="%.8g", delimiter=",")
        print(f"{name}: {len(front)} points")  # noqa: T201
