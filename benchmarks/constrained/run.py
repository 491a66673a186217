"""`counterpoise bench constrained`: feasible search samples and hypervolume of the
feasible front, beside other rules and programs with the same number of samples.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import moocore
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from app.optimizer.strategies.catalogue import STRATEGIES
from benchmarks.constrained.optimise import optimise
from benchmarks.constrained.peers import nsga3, random_search, reference_front
from benchmarks.constrained.problems import ConstrainedProblem, constrained_problem

Array = NDArray[np.float64]
Row = dict[str, Any]
Method = Callable[[ConstrainedProblem, int, int], Array]
CORNER = 1.1  # reference point of the hypervolume, where the front spans [0, 1]


def ours(strategy: str) -> Method:
    return lambda problem, seed, search: optimise(
        problem, STRATEGIES[strategy], seed, search
    )


def infeasible_as_worst() -> Method:
    """`sbp-bo` with the rule before there were limits: a sample that breaks one is
    reported as infeasible, and counts as the worst value of the run's objective.
    """
    rule = replace(STRATEGIES["sbp-bo"], infeasible="worst")
    return lambda problem, seed, search: optimise(
        problem, rule, seed, search, limits=False
    )


def methods(strategy: str) -> dict[str, Method]:
    return {
        strategy: ours(strategy),
        "infeasible as worst": infeasible_as_worst(),
        "random": random_search,
        "pymoo NSGA-III": nsga3,
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
        problem = constrained_problem(name)
        for method, function in methods(strategy).items():
            for seed in seeds:
                X = function(problem, seed, search)
                rows.append(_row(problem, method, seed, X))
                progress()
    return rows


def _row(problem: ConstrainedProblem, method: str, seed: int, X: Array) -> Row:
    feasible = problem.is_feasible(X)
    F, _ = problem.evaluate(X[feasible])
    return {
        "problem": problem.name,
        "method": method,
        "seed": seed,
        "samples": len(X),
        "feasible_share": float(feasible[problem.n :].mean()),
        "hypervolume_ratio": hypervolume_ratio(problem.name, F),
    }


def hypervolume_ratio(name: str, F: Array) -> float:
    """Of feasible values (n, m), to that of a long run; the long run's front spans
    [0, 1], the corner is at 1.1.
    """
    reference = reference_front(name)
    low, high = reference.min(axis=0), reference.max(axis=0)
    scaled = (F - low) / (high - low)
    return _hypervolume(scaled) / _hypervolume((reference - low) / (high - low))


def _hypervolume(F: Array) -> float:
    corner = np.full(F.shape[1], CORNER)
    inside = F[(corner > F).all(axis=1)]
    return float(moocore.hypervolume(inside, ref=corner)) if len(inside) else 0.0


def table(rows: Iterable[Row]) -> Table:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["problem"], row["method"]), []).append(row)
    result = Table(
        title="search samples that are feasible, and hypervolume of the feasible front"
        " as a share of a long run's; means"
    )
    for heading in ("problem", "method", "runs", "feasible", "hypervolume"):
        result.add_column(heading)
    for (problem, method), group in found.items():
        result.add_row(
            problem,
            method,
            str(len(group)),
            f"{mean(row['feasible_share'] for row in group):.0%}",
            f"{mean(row['hypervolume_ratio'] for row in group):.3f}",
        )
    return result
