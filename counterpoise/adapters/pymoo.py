"""pymoo: problems as workers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Values = dict[str, float]


def variables(problem: Any) -> list[dict[str, Any]]:
    """For a specification: x0, x1, ... with the problem's bounds."""
    bounds = zip(problem.xl, problem.xu, strict=True)
    return [
        {"name": f"x{i}", "low": float(low), "high": float(high)}
        for i, (low, high) in enumerate(bounds)
    ]


def outputs(problem: Any) -> list[str]:
    """f0, f1, ... and, for inequality constraints (at most 0), g0, g1, ..."""
    constraints = [f"g{i}" for i in range(problem.n_ieq_constr)]
    return [f"f{i}" for i in range(problem.n_obj)] + constraints


def function(
    problem: Any, names: Sequence[str] | None = None
) -> Callable[[Mapping[str, Any]], Values]:
    """A function for a worker that evaluates the whole problem at one point.

    `names` of the outputs, in the order of `outputs`.
    """
    wanted = list(names or outputs(problem))

    def evaluate(x: Mapping[str, Any]) -> Values:
        point = np.array([list(x.values())], dtype=float)
        found = problem.evaluate(point, return_as_dictionary=True)
        F, G = found["F"][0], found.get("G")
        constraints = [] if G is None else list(G[0])
        return dict(zip(wanted, map(float, [*F, *constraints]), strict=True))

    return evaluate


def functions(problem: Any) -> dict[str, Callable[[Mapping[str, Any]], float]]:
    """One function per objective of a FunctionalProblem, so that each has jobs of its
    own.
    """
    return {f"f{i}": _single(objective) for i, objective in enumerate(problem.objs)}


def _single(objective: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], float]:
    def evaluate(x: Mapping[str, Any]) -> float:
        return float(objective(np.array(list(x.values()), dtype=float)))

    return evaluate
