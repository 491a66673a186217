"""`counterpoise bench mixed`: hypervolume beside random search and pymoo, with the same
number of full samples.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import Any

import moocore
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from app.optimizer.strategies.catalogue import STRATEGIES
from benchmarks.constrained.optimise import optimise
from benchmarks.mixed.peers import mixed_variable_ga, random_search
from benchmarks.mixed.problems import PROBLEMS, MixedProblem

Array = NDArray[np.float64]
Row = dict[str, Any]
Method = Callable[[MixedProblem, int, int], Array]
CORNER = 1.1  # reference point of the hypervolume, where the front spans [0, 1]


def methods(strategy: str) -> dict[str, Method]:
    return {
        strategy: lambda problem, seed, search: optimise(
            problem, STRATEGIES[strategy], seed, search
        ),
        "random": random_search,
        "pymoo MixedVariableGA": mixed_variable_ga,
    }


def run(
    names: Sequence[str],
    seeds: Sequence[int],
    search: int,
    strategy: str,
    progress: Callable[[], None] = lambda: None,
) -> list[Row]:
    rows = []
    for name in names:
        problem = PROBLEMS[name]()
        found: dict[tuple[str, int], Array] = {}
        for method, function in methods(strategy).items():
            for seed in seeds:
                X = function(problem, seed, search)
                found[method, seed] = problem.values(X)
                progress()
        front = nondominated(np.vstack(list(found.values())))
        for (method, seed), F in found.items():
            share = hypervolume(F, front) / hypervolume(front, front)
            rows.append(
                {
                    "problem": name,
                    "method": method,
                    "seed": seed,
                    "samples": len(F),
                    "hypervolume_ratio": share,
                }
            )
    return rows


def nondominated(F: Array) -> Array:
    return np.asarray(F[moocore.is_nondominated(F)])


def hypervolume(F: Array, front: Array) -> float:
    """Of F (n, m), where the front spans [0, 1] and the corner is at 1.1."""
    low, high = front.min(axis=0), front.max(axis=0)
    corner = np.full(F.shape[1], CORNER)
    scaled = (F - low) / (high - low)
    inside = scaled[(scaled < corner).all(axis=1)]
    return float(moocore.hypervolume(inside, ref=corner)) if len(inside) else 0.0


def table(rows: Iterable[Row]) -> Table:
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        key = (row["problem"], row["method"])
        found.setdefault(key, []).append(row["hypervolume_ratio"])
    result = Table(
        title="hypervolume as a share of that of the best points of all runs; means"
    )
    for heading in ("problem", "method", "runs", "hypervolume"):
        result.add_column(heading)
    for (problem, method), shares in found.items():
        result.add_row(problem, method, str(len(shares)), f"{mean(shares):.3f}")
    return result
