"""The test problems by name, in the settings of the paper, and their scores."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import moocore
import numpy as np
from numpy.typing import NDArray

from app.optimizer.problem import Objective, Problem, Variable
from benchmarks.problems.dtlz import DTLZ, VARIANTS
from benchmarks.problems.engineering import ENGINEERING
from benchmarks.problems.fronts import FRONTS
from benchmarks.problems.uf import UF
from benchmarks.problems.wfg import WFG
from benchmarks.problems.zdt import ZDT

Array = NDArray[np.float64]
EVALUATE: dict[str, Callable[[Array, int], Array]] = {
    **DTLZ,
    **WFG,
    **VARIANTS,
    **UF,
    **ZDT,
    **{name: problem.evaluate for name, problem in ENGINEERING.items()},
}
NAMES = (*DTLZ, *WFG)  # those of the paper's tables with three and more objectives
# Those of its table with two objectives, and their numbers of variables
BI_OBJECTIVE = (
    dict.fromkeys(("dtlz1", "dtlz1a"), 6)
    | dict.fromkeys(("dtlz2", "dtlz3", "dtlz3a", "dtlz4", "dtlz5", "dtlz6"), 11)
    | {"dtlz7": 21}
    | dict.fromkeys(UF, 30)
)
BI_OBJECTIVE_DESIGN = 100
VARIABLES = (
    dict.fromkeys(UF, 30)
    | dict.fromkeys(ZDT, 30)
    | {"zdt4": 10, "zdt6": 10}
    | {name: problem.d for name, problem in ENGINEERING.items()}
)
OBJECTIVES = (
    dict.fromkeys(UF, 2)
    | dict.fromkeys(ZDT, 2)
    | {name: problem.m for name, problem in ENGINEERING.items()}
)
CORNER = 1.1  # reference point of the hypervolume, where the front spans [0, 1]
DIRECTIONS = 2**14  # of the approximate hypervolume; its method is deterministic


@dataclass(frozen=True, slots=True)
class Instance:
    name: str
    m: int
    d: int
    n: int  # samples of the initial design

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
        """IGD+ of the nondominated subset of F (n, m); of engineering problems, whose
        units differ, where the reference front spans [0, 1].
        """
        front = F[moocore.is_nondominated(F, keep_weakly=True)]
        reference = reference_front(self.name, self.m)
        if self.name in ENGINEERING:
            front, reference = _scaled(front, reference), _scaled(reference, reference)
        return float(moocore.igd_plus(front, ref=reference))

    def igd(self, F: Array) -> float:
        """IGD of the nondominated subset of F (n, m): the bi-objective table's score."""
        front = F[moocore.is_nondominated(F, keep_weakly=True)]
        return float(moocore.igd(front, ref=reference_front(self.name, self.m)))

    def hypervolume(self, F: Array) -> float:
        """Hypervolume of F (n, m) as a share of the reference front's; the front spans
        [0, 1], the corner is at 1.1.
        """
        reference = reference_front(self.name, self.m)
        return _hypervolume(_scaled(F, reference)) / _hypervolume(
            _scaled(reference, reference)
        )


def _scaled(F: Array, reference: Array) -> Array:
    """F (n, m) where the reference front spans [0, 1]."""
    low, high = reference.min(axis=0), reference.max(axis=0)
    return np.asarray((F - low) / (high - low))


def _hypervolume(F: Array) -> float:
    corner = np.full(F.shape[1], CORNER)
    inside = F[(corner > F).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    return float(moocore.hv_approx(inside, ref=corner, nsamples=DIRECTIONS))


def problem(name: str, m: int, d: int | None = None) -> Instance:
    """The problem with d variables (by default the paper's) and a design of 11 d - 1."""
    if name not in EVALUATE:
        raise ValueError(f"no problem {name!r}; there are {', '.join(EVALUATE)}")
    if m != OBJECTIVES.get(name, m):
        raise ValueError(f"{name} has {OBJECTIVES[name]} objectives, not {m}")
    d = d or _variables(name, m)
    return Instance(name, m, d, 11 * d - 1)


def bi_objective(name: str) -> Instance:
    """The problem as the paper's bi-objective table has it."""
    if name not in BI_OBJECTIVE:
        raise ValueError(f"no problem {name!r}; there are {', '.join(BI_OBJECTIVE)}")
    return Instance(name, 2, BI_OBJECTIVE[name], BI_OBJECTIVE_DESIGN)


def _variables(name: str, m: int) -> int:
    # WFG2 and WFG3 need an even number of distance variables
    odd = name in ("wfg2", "wfg3") and (10 - (m - 1)) % 2 == 1
    return VARIABLES.get(name, 11 if odd else 10)


@cache
def reference_front(name: str, m: int) -> Array:
    return FRONTS[name](m)
