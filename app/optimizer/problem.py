"""The optimisation problem: variables, objectives, and how much cheaper one objective
is than another.

| symbol | here             | meaning                                                        |
|--------|------------------|----------------------------------------------------------------|
| d, m   | `d`, `m`         | number of variables, of objectives                             |
| –      | `width`          | coordinates of the unit cube: d, and more where a variable is categorical |
| r_i    | `ratios[i]`      | evaluations of objective i that fit into one of the slowest    |
| r_thres| `cheap_threshold`| objective i is cheap if r_i exceeds it                         |
| p      | `len(cheap)`     | number of cheap outputs                                        |
| –      | `outputs`        | objectives, then constraints                                   |
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from app.optimizer.limits import Limit
from app.optimizer.search.novelty import TOLERANCE
from counterpoise.wire.requirements.tree import Requirement

# Beyond it a float has no halves, where the bins of integers meet
LARGEST_INTEGER = 2**52
KINDS = ("float", "int", "categorical")


@dataclass(frozen=True, slots=True)
class Variable:
    """A categorical variable has the numbers of its choices: low is 0, high the number
    of the last. So has an ordered discrete one, an integer whose levels stand for
    `numbers`.
    """

    name: str
    low: float
    high: float
    kind: Literal["float", "int", "categorical"] = "float"
    scale: Literal["linear", "log"] = "linear"
    # What requirements compute with, one number per level; None: the level itself
    numbers: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        fault = (
            self._fault_of_bounds()
            or self._fault_of_integer()
            or self._fault_of_levels()
            or self._fault_of_log_scale()
        )
        if fault is not None:
            raise ValueError(f"variable {self.name!r}: {fault}")

    @property
    def width(self) -> int:
        """Coordinates of the unit cube: one, of a categorical variable one per choice."""
        return int(self.high) + 1 if self.kind == "categorical" else 1

    @property
    def coarse(self) -> bool:
        """Whether points of the unit cube that count as different can be the same
        number: integers, narrow ranges.
        """
        if self.kind != "float":
            return True
        largest = max(abs(self.low), abs(self.high))
        if self.scale == "linear":
            return math.ulp(largest) > TOLERANCE * (self.high - self.low)
        low, high = math.log(self.low), math.log(self.high)
        rounding_of_log = math.ulp(max(abs(low), abs(high)))
        rounding_of_number = math.ulp(self.low) / self.low  # as a share of the number
        return max(rounding_of_log, rounding_of_number) > TOLERANCE * (high - low)

    def _fault_of_bounds(self) -> str | None:
        if not (
            math.isfinite(self.low)
            and math.isfinite(self.high)
            and self.low < self.high
        ):
            return f"low {self.low} must be finite and less than high {self.high}"
        if not math.isfinite(self.high - self.low):
            return "high - low overflows; choose another unit"
        if self.kind not in KINDS or self.scale not in ("linear", "log"):
            return "kind is float, int or categorical, scale is linear or log"
        return None

    def _fault_of_integer(self) -> str | None:
        if self.kind == "float":
            return None
        if not (float(self.low).is_integer() and float(self.high).is_integer()):
            return "an integer variable needs integer bounds"
        if max(abs(self.low), abs(self.high)) > LARGEST_INTEGER:
            return "beyond 2**52 integers are not exact; choose another origin"
        return None

    def _fault_of_levels(self) -> str | None:
        if self.kind == "categorical" and (self.low != 0 or self.scale == "log"):
            return "the choices of a categorical variable are numbered from 0"
        if self.numbers is None:
            return None
        if self.kind == "float" or len(self.numbers) != self.high - self.low + 1:
            return f"{len(self.numbers)} numbers do not fit its levels"
        return None

    def _fault_of_log_scale(self) -> str | None:
        if self.scale != "log":
            return None
        if self.low <= 0:
            return f"a log scale needs low > 0, not {self.low}"
        if math.log(self.high) <= math.log(self.low):
            return f"low {self.low} and high {self.high} are the same on a log scale"
        return None


Variables = tuple[Variable, ...]


class Space(Variables):
    """The variables of a problem, with the requirements that every point satisfies.

    Where points are generated from variables, a plain tuple stands for a space without
    requirements.
    """

    requirements: tuple[Requirement, ...]

    def __new__(
        cls, variables: Iterable[Variable], requirements: Iterable[Requirement] = ()
    ) -> Self:
        space = super().__new__(cls, variables)
        space.requirements = tuple(requirements)
        return space

    def __getnewargs__(self) -> tuple[Variables, tuple[Requirement, ...]]:
        return tuple(self), self.requirements


def requirements_of(variables: Variables) -> tuple[Requirement, ...]:
    return variables.requirements if isinstance(variables, Space) else ()


def width_of(variables: Variables) -> int:
    return sum(variable.width for variable in variables)


@dataclass(frozen=True, slots=True)
class Objective:
    """`lower` and `upper` are limits in the user's units."""

    name: str
    direction: Literal["minimize", "maximize"] = "minimize"
    lower: float | None = None
    upper: float | None = None
    # Standard deviation of the values' noise, in their unit; None: to be estimated
    noise: float | None = 0.0

    @property
    def limit(self) -> Limit:
        """Of the minimised value."""
        lower = -math.inf if self.lower is None else self.lower
        upper = math.inf if self.upper is None else self.upper
        if self.direction == "maximize":
            return Limit(-upper, -lower)
        return Limit(lower, upper)

    def __post_init__(self) -> None:
        if self.direction not in ("minimize", "maximize"):
            raise ValueError(
                f"objective {self.name!r}: direction is minimize or maximize, not {self.direction!r}"
            )


@dataclass(frozen=True, slots=True)
class Constraint:
    """An output that is not optimised, but has limits."""

    name: str
    lower: float | None = None
    upper: float | None = None

    @property
    def limit(self) -> Limit:
        lower = -math.inf if self.lower is None else self.lower
        upper = math.inf if self.upper is None else self.upper
        return Limit(lower, upper)


@dataclass(frozen=True, slots=True)
class Problem:
    """Outputs are the objectives, then the constraints: what has one entry per output
    is in this order.
    """

    variables: Variables
    objectives: tuple[Objective, ...]
    # R_i >= 1, one per output; a part of an evaluation does not count
    ratios: tuple[float, ...]
    cheap_threshold: float = 1.0
    # The cheap objectives, once they are fixed; else from the ratios
    fixed_cheap: tuple[int, ...] | None = None
    requirements: tuple[Requirement, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        if not self.variables or not self.objectives:
            raise ValueError("a problem needs at least one variable and one objective")
        _check_distinct("variable", (variable.name for variable in self.variables))
        _check_distinct("output", (output.name for output in self.outputs))
        if len(self.ratios) != len(self.outputs):
            raise ValueError(
                f"{len(self.ratios)} ratios for {len(self.outputs)} objectives"
                " and constraints"
            )
        if not all(math.isfinite(r) and r >= 1 for r in self.ratios):
            raise ValueError(
                f"every ratio must be finite and at least 1, not {self.ratios}"
            )
        if self.fixed_cheap is not None and not set(self.fixed_cheap) <= set(
            range(len(self.outputs))
        ):
            raise ValueError(
                f"cheap outputs {self.fixed_cheap} are not among the"
                f" {len(self.outputs)} outputs"
            )
        # r_i is rounded down: at 1.9 an objective would count as cheap and get no
        # cheap-only sample.
        whole = tuple(float(math.floor(r)) for r in self.ratios)
        object.__setattr__(self, "ratios", whole)
        space = Space(self.variables, self.requirements)
        object.__setattr__(self, "variables", space)

    @property
    def d(self) -> int:
        return len(self.variables)

    @property
    def width(self) -> int:
        """Coordinates of the unit cube, which the models see."""
        return width_of(self.variables)

    @property
    def groups(self) -> tuple[int, ...]:
        """The number of the variable of each coordinate, (width,)."""
        return tuple(
            k
            for k, variable in enumerate(self.variables)
            for _ in range(variable.width)
        )

    @property
    def m(self) -> int:
        return len(self.objectives)

    @property
    def outputs(self) -> tuple[Objective | Constraint, ...]:
        return (*self.objectives, *self.constraints)

    @property
    def noise(self) -> tuple[float | None, ...]:
        """One per output; those of constraints are taken as exact."""
        exact = (0.0,) * len(self.constraints)
        return (*(objective.noise for objective in self.objectives), *exact)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """One per output, of the minimised value."""
        return tuple(output.limit for output in self.outputs)

    @property
    def cheap(self) -> tuple[int, ...]:
        if self.fixed_cheap is not None:
            return tuple(sorted(set(self.fixed_cheap)))
        return tuple(i for i, r in enumerate(self.ratios) if r > self.cheap_threshold)


def _check_distinct(kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {kind}s have the same name: {name!r}")
        seen.add(name)
