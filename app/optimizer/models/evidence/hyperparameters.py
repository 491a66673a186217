"""Structures of the kernel and their hyperparameters, with priors, bounds and starts.

Notation (g = number of groups of coordinates; without groups g = d):
    l (g,)      length-scales on the unit cube
    b (g,)      weight of a coordinate's variation beside its constant part
    a, c (g,)   exponents of the warp u = 1 - (1 - x^a)^c, structure C only
    eta         share of the process variance on the diagonal (nugget)
    p (2g + 1,) or (4g + 1,)   ln l, ln b, [ln a, ln c,] ln eta: what the optimiser sees and a step records
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from app.optimizer.arrays import Floats, Ints

LN10 = float(np.log(10.0))


class Structure(StrEnum):
    """Shape of the correlation along one coordinate."""

    MATERN = "matern"  # A: Matern 5/2
    GAUSSIAN = "gaussian"  # B
    WARPED_MATERN = "warped-matern"  # C: A on warped inputs

    @property
    def warped(self) -> bool:
        return self is Structure.WARPED_MATERN


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """A point p of a structure, as a step records it.

    JSON keeps every bit of a float.
    """

    structure: Structure
    values: tuple[float, ...]

    @property
    def eta(self) -> float:
        return float(np.exp(self.values[-1]))

    def with_eta(self, eta: float) -> "Hyperparameters":
        return Hyperparameters(self.structure, (*self.values[:-1], float(np.log(eta))))

    def as_json(self) -> dict[str, Any]:
        return {"structure": self.structure.value, "values": list(self.values)}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> "Hyperparameters":
        values = tuple(float(value) for value in record["values"])
        return Hyperparameters(Structure(record["structure"]), values)


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal prior on one kind of hyperparameter, its bounds and where a cold fit
    starts, all on the log scale.
    """

    mean: float
    sd: float
    low: float
    high: float
    start: float


LENGTH_BOUNDS = (float(np.log(0.01)), float(np.log(200.0)))
WEIGHT_BOUNDS = (-9.0, 7.0)
WARP = Normal(0.0, 1.2, -3.0, 3.0, 0.0)
# Starts at 1e-3, not at the mean of its prior: from 1e-6 noisy values end in short
# length-scales without noise.
ETA = Normal(-6.0 * LN10, LN10, -8.0 * LN10, float(np.log(0.3)), -3.0 * LN10)

LENGTH = {
    # Short length-scales as a start: from long ones the fit often ends in a smooth
    # trend with noise.
    Structure.MATERN: Normal(-0.5, 2.5, *LENGTH_BOUNDS, start=-2.5),
    Structure.GAUSSIAN: Normal(-0.5, 2.5, *LENGTH_BOUNDS, start=-3.0),
    Structure.WARPED_MATERN: Normal(0.5, 1.5, *LENGTH_BOUNDS, start=0.5),
}
WEIGHT = {
    Structure.MATERN: Normal(-2.0, 2.5, *WEIGHT_BOUNDS, start=-3.0),
    Structure.GAUSSIAN: Normal(-2.0, 2.5, *WEIGHT_BOUNDS, start=-3.0),
    Structure.WARPED_MATERN: Normal(-2.0, 2.5, *WEIGHT_BOUNDS, start=-2.0),
}


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Independent normal densities over all of p, with bounds and a cold start; each
    array has the shape of p.
    """

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    start: Floats

    def penalty(self, p: Floats) -> tuple[float, Floats]:
        """Minus the log density without its constant, and its gradient."""
        score = (p - self.mean) / self.sd
        return 0.5 * float(score @ score), score / self.sd


def make_prior(structure: Structure, groups: int, eta: float | None = None) -> Prior:
    """The prior of a structure; with `eta` given, the nugget is fixed there and has no
    density.
    """
    kinds = [LENGTH[structure], WEIGHT[structure]]
    if structure.warped:
        kinds += [WARP, WARP]
    parts = []
    for kind in kinds:
        parts += [kind] * groups
    if eta is None:
        parts.append(ETA)
    else:
        at = float(np.log(eta))
        parts.append(Normal(at, 1.0, at, at, at))
    table = np.array(
        [(part.mean, part.sd, part.low, part.high, part.start) for part in parts]
    )
    return Prior(*table.T)


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """The same hyperparameters per coordinate of the inputs."""

    lengths: Floats  # (d,)
    weights: Floats  # (d,)
    a: Floats  # (d,), 1 where nothing is warped
    c: Floats  # (d,)
    eta: float


def per_coordinate(structure: Structure, p: Floats, groups: Ints) -> Coordinates:
    """`groups` (d,) has the number of each coordinate's group."""
    count = number_of_groups(groups)
    expected = (4 if structure.warped else 2) * count + 1
    if p.shape != (expected,):
        raise ValueError(
            f"structure {structure.value!r} needs {expected} hyperparameters here, not {p.size}"
        )
    kinds = np.exp(p[:-1].reshape(-1, count))[:, groups]  # (2 or 4, d)
    if not structure.warped:
        kinds = np.vstack([kinds, np.ones_like(kinds)])
    lengths, weights, a, c = kinds
    return Coordinates(lengths, weights, a, c, float(np.exp(p[-1])))


def own_groups(d: int) -> Ints:
    """Every coordinate by itself."""
    return np.arange(d)


def number_of_groups(groups: Ints) -> int:
    return int(groups.max()) + 1
