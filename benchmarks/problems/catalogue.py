"""The 16 test problems in the paper's setting, by name, and their score."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import moocore
import numpy as np
from numpy.typing import NDArray

from app.optimizer.problem import Objective, Problem, Variable
from benchmarks.problems.dtlz import DTLZ
from benchmarks.problems.fronts import FRONTS
from benchmarks.problems.wfg import WFG

Array = NDArray[np.float64]
EVALUATE: dict[str, Callable[[Array, int], Array]] = {**DTLZ, **WFG}
NAMES = tuple(EVALUATE)
CORNER = 1.1  # reference point of the hypervolume, where the front spans [0, 1]
DIRECTIONS = 2**14  # of the approximate hypervolume; its method is deterministic


@dataclass(frozen=True, slots=True)
class Instance:
    name: str
    m: int
    d: int

    @property
    def n(self) -> int:
        return 11 * self.d - 1

    def declare(self, ratios: tuple[float, ...]) -> Problem:
        """The same problem as the optimiser knows it."""
        variables = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(self.d))
        return Problem(
            variables, tuple(Objective(f"f{i}") for i in range(self.m)), ratios
        )

    def evaluate(self, X: Array) -> Array:
        """X (n, d) in the unit cube -> F (n, m), minimised."""
        return EVALUATE[self.name](X, self.m)

    def igd_plus(self, F: Array) -> float:
        """IGD+ of the nondominated subset of F (n, m)."""
        front = F[moocore.is_nondominated(F, keep_weakly=True)]
        return float(moocore.igd_plus(front, ref=reference_front(self.name, self.m)))

    def hypervolume(self, F: Array) -> float:
        """Hypervolume of F (n, m) as a share of the reference front's; the front spans
        [0, 1], the corner is at 1.1.
        """
        reference = reference_front(self.name, self.m)
        low, high = reference.min(axis=0), reference.max(axis=0)
        return _hypervolume((F - low) / (high - low)) / _hypervolume(
            (reference - low) / (high - low)
        )


def _hypervolume(F: Array) -> float:
    corner = np.full(F.shape[1], CORNER)
    inside = F[(corner > F).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    return float(moocore.hv_approx(inside, ref=corner, nsamples=DIRECTIONS))


def problem(name: str, m: int) -> Instance:
    if name not in EVALUATE:
        raise ValueError(f"no problem {name!r}; there are {', '.join(NAMES)}")
    even = name in ("wfg2", "wfg3")
    return Instance(name, m, 11 if even and (10 - (m - 1)) % 2 else 10)


@cache
def reference_front(name: str, m: int) -> Array:
    return FRONTS[name](m)
