"""What is to be optimised: variables, objectives, and how much cheaper one objective is than another.

| symbol | here             | meaning                                                        |
|--------|------------------|----------------------------------------------------------------|
| d, m   | `d`, `m`         | number of variables, of objectives                             |
| r_i    | `ratios[i]`      | evaluations of objective i that fit into one of the slowest    |
| r_thres| `cheap_threshold`| objective i is cheap if r_i exceeds it                         |
| p, q   | `len(cheap)`, …  | number of cheap, of expensive objectives; p + q = m            |
"""

import math
from dataclasses import dataclass
from typing import Literal

from app.optimizer.search.novelty import TOLERANCE

LARGEST_INTEGER = 2**52  # beyond it a float knows no halves, where the bins of integers meet


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    low: float
    high: float
    kind: Literal["float", "int"] = "float"
    scale: Literal["linear", "log"] = "linear"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"variable {self.name!r}: low {self.low} must be finite and less than high {self.high}")
        if not math.isfinite(self.high - self.low):
            raise ValueError(f"variable {self.name!r}: high - low overflows; choose another unit")
        if self.kind not in ("float", "int") or self.scale not in ("linear", "log"):
            raise ValueError(f"variable {self.name!r}: kind is float or int, scale is linear or log")
        if self.kind == "int" and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise ValueError(f"variable {self.name!r}: an integer variable needs integer bounds")
        if self.kind == "int" and max(abs(self.low), abs(self.high)) > LARGEST_INTEGER:
            raise ValueError(f"variable {self.name!r}: beyond 2**52 integers are not exact; choose another origin")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"variable {self.name!r}: a log scale needs low > 0, not {self.low}")
        if self.scale == "log" and math.log(self.high) <= math.log(self.low):
            raise ValueError(f"variable {self.name!r}: low {self.low} and high {self.high} are the same on a log scale")

    @property
    def coarse(self) -> bool:
        """Whether points of the unit cube that count as different can be the same number: integers, narrow ranges."""
        if self.kind == "int":
            return True
        if self.scale == "linear":
            return math.ulp(max(abs(self.low), abs(self.high))) > TOLERANCE * (self.high - self.low)
        low, high = math.log(self.low), math.log(self.high)
        finest = max(math.ulp(max(abs(low), abs(high))), math.ulp(self.low) / self.low)  # as a share of the number
        return finest > TOLERANCE * (high - low)


@dataclass(frozen=True, slots=True)
class Objective:
    name: str
    direction: Literal["minimize", "maximize"] = "minimize"

    def __post_init__(self) -> None:
        if self.direction not in ("minimize", "maximize"):
            raise ValueError(f"objective {self.name!r}: direction is minimize or maximize, not {self.direction!r}")


@dataclass(frozen=True, slots=True)
class Problem:
    variables: tuple[Variable, ...]
    objectives: tuple[Objective, ...]
    ratios: tuple[float, ...]  # r_i >= 1, one per objective; a part of an evaluation does not count
    cheap_threshold: float = 1.0
    fixed_cheap: tuple[int, ...] | None = None  # which objectives are cheap, once that is settled; else from the ratios

    def __post_init__(self) -> None:
        if not self.variables or not self.objectives:
            raise ValueError("a problem needs at least one variable and one objective")
        for kind, names in (("variable", self.variables), ("objective", self.objectives)):
            if len({each.name for each in names}) < len(names):
                raise ValueError(f"two {kind}s have the same name")
        if len(self.ratios) != self.m:
            raise ValueError(f"{len(self.ratios)} ratios for {self.m} objectives")
        if not all(math.isfinite(r) and r >= 1 for r in self.ratios):
            raise ValueError(f"every ratio must be finite and at least 1, not {self.ratios}")
        # r_i is rounded down: at 1.9 an objective would count as cheap and get no cheap-only sample.
        object.__setattr__(self, "ratios", tuple(float(math.floor(r)) for r in self.ratios))
        if self.fixed_cheap is not None and not set(self.fixed_cheap) <= set(range(self.m)):
            raise ValueError(f"cheap objectives {self.fixed_cheap} are not among the {self.m} objectives")

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

    @property
    def expensive(self) -> tuple[int, ...]:
        return tuple(sorted(set(range(self.m)) - set(self.cheap)))
