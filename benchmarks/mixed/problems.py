"""Two problems with categories: a truss, and a catalogue of shifted functions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.optimizer.problem import Objective, Problem, Variable
from benchmarks.mixed.truss import AREAS, MATERIALS, evaluate_truss

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
RATIO = 5.0  # of the first objective
BARS, GROUPS = 10, 3
SHIFTS = np.array(
    [[0.2, 0.8, 0.5, 0.3], [0.7, 0.3, 0.1, 0.9], [0.5, 0.5, 0.9, 0.1], [0.9, 0.6, 0.4, 0.6]]
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class MixedProblem:
    """X (n, d) has numbers, of categories and discrete values those of their levels."""

    name: str
    variables: tuple[Variable, ...]
    values: Callable[[Array], Array]  # X (n, d) -> F (n, 2), minimised
    m: int = 2
    hidden: Callable[[Array], Bools] | None = None

    @property
    def n(self) -> int:
        return 11 * len(self.variables) - 1

    def declare(self, *, limits: bool = True) -> Problem:  # noqa: ARG002
        objectives = (Objective("f1"), Objective("f2"))
        return Problem(self.variables, objectives, (RATIO, 1.0))

    def evaluate(self, X: Array) -> tuple[Array, Array]:
        return self.values(X), np.empty((len(X), 0))


def _truss() -> MixedProblem:
    profiles = [Variable(f"area{i + 1}", 0, len(AREAS) - 1, "int") for i in range(BARS)]
    materials = [
        Variable(f"material{i + 1}", 0, len(MATERIALS) - 1, "categorical")
        for i in range(GROUPS)
    ]
    height = Variable("height", 1.0, 6.0)

    def values(X: Array) -> Array:
        levels = X[:, 1:].astype(np.int64)
        return evaluate_truss(X[:, 0], levels[:, :BARS], levels[:, BARS:])

    return MixedProblem("truss", (height, *profiles, *materials), values)


def _catalogue() -> MixedProblem:
    """Each of four products has its best setting elsewhere and its own cost; a second
    category bends the front.
    """
    floats = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(5))
    product = Variable("product", 0, len(SHIFTS) - 1, "categorical")
    shape = Variable("shape", 0, 2, "categorical")

    def values(X: Array) -> Array:
        chosen = X[:, 5].astype(np.int64)
        distance = ((X[:, 1:5] - SHIFTS[chosen]) ** 2).sum(axis=1)
        g = 1.0 + 3.0 * distance + np.array([0.6, 0.0, 0.3, 0.9])[chosen]
        power = np.array([0.5, 1.0, 2.0])[X[:, 6].astype(np.int64)]
        f1 = X[:, 0] + 0.1 * (power - 0.5)
        return np.column_stack([f1, g * (1.0 - (X[:, 0] / g) ** power) + 0.2 * power])

    return MixedProblem("catalogue", (*floats, product, shape), values)


PROBLEMS: dict[str, Callable[[], MixedProblem]] = {
    "truss": _truss,
    "catalogue": _catalogue,
}
