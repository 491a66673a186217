"""The optimisation problem: variables, objectives, and how much cheaper one objective
is than another.

| symbol | here             | meaning                                                        |
|--------|------------------|----------------------------------------------------------------|
| d, m   | `d`, `m`         | number of variables, of objectives                             |
| r_i    | `ratios[i]`      | evaluations of objective i that fit into one of the slowest    |
| r_thres| `cheap_threshold`| objective i is cheap if r_i exceeds it                         |
| p      | `len(cheap)`     | number of cheap objectives; q = m - p are expensive            |
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.optimizer.search.novelty import TOLERANCE

# Beyond it a float has no halves, where the bins of integers meet
LARGEST_INTEGER = 2**52


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    low: float
    high: float
    kind: Literal["float", "int"] = "float"
    scale: Literal["linear", "log"] = "linear"

    def __post_init__(self) -> None:
        fault = (
            self._fault_of_bounds()
            or self._fault_of_integer()
            or self._fault_of_log_scale()
        )
        if fault is not None:
            raise ValueError(f"variable {self.name!r}: {fault}")

    @property
    def coarse(self) -> bool:
        """Whether points of the unit cube that count as different can be the same
        number: integers, narrow ranges.
        """
        if self.kind == "int":
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
        if self.kind not in ("float", "int") or self.scale not in ("linear", "log"):
            return "kind is float or int, scale is linear or log"
        return None

    def _fault_of_integer(self) -> str | None:
        if self.kind != "int":
            return None
        if not (float(self.low).is_integer() and float(self.high).is_integer()):
            return "an integer variable needs integer bounds"
        if max(abs(self.low), abs(self.high)) > LARGEST_INTEGER:
            return "beyond 2**52 integers are not exact; choose another origin"
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


@dataclass(frozen=True, slots=True)
class Objective:
    name: str
    direction: Literal["minimize", "maximize"] = "minimize"

    def __post_init__(self) -> None:
        if self.direction not in ("minimize", "maximize"):
            raise ValueError(
                f"objective {self.name!r}: direction is minimize or maximize, not {self.direction!r}"
            )


@dataclass(frozen=True, slots=True)
class Problem:
    variables: Variables
    objectives: tuple[Objective, ...]
    # R_i >= 1, one per objective; a part of an evaluation does not count
    ratios: tuple[float, ...]
    cheap_threshold: float = 1.0
    fixed_cheap: tuple[int, ...] | None = (
        None  # the cheap objectives, once they are fixed; else from the ratios
    )

    def __post_init__(self) -> None:
        if not self.variables or not self.objectives:
            raise ValueError("a problem needs at least one variable and one objective")
        _check_distinct("variable", (variable.name for variable in self.variables))
        _check_distinct("objective", (objective.name for objective in self.objectives))
        if len(self.ratios) != self.m:
            raise ValueError(f"{len(self.ratios)} ratios for {self.m} objectives")
        if not all(math.isfinite(r) and r >= 1 for r in self.ratios):
            raise ValueError(
                f"every ratio must be finite and at least 1, not {self.ratios}"
            )
        if self.fixed_cheap is not None and not set(self.fixed_cheap) <= set(
            range(self.m)
        ):
            raise ValueError(
                f"cheap objectives {self.fixed_cheap} are not among the {self.m} objectives"
            )
        # r_i is rounded down: at 1.9 an objective would count as cheap and get no
        # cheap-only sample.
        whole = tuple(float(math.floor(r)) for r in self.ratios)
        object.__setattr__(self, "ratios", whole)

    @property
    def d(self) -> int:
        return len(self.variables)

    @property
    def m(self) -> int:
        return len(self.objectives)

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
