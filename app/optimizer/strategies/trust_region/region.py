"""A trust region and its life: from one evaluated trial to the next.

| symbol | here       | meaning                                                         |
|--------|------------|-----------------------------------------------------------------|
| x_k    | `centre`   | the best point so far, with its values                          |
| Delta  | `radius`   | half the edge of the box                                        |
| rho    | `quality`  | descent that the trial brought, beside what was predicted       |
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import Bounds

from app.optimizer.arrays import Floats
from app.optimizer.search.novelty import TOLERANCE
from app.optimizer.strategies.trust_region.descent import Descent, relative_change

FIRST_RADIUS, LARGEST_RADIUS, SMALLEST_RADIUS = 0.1, 0.5, 1e-3
ACCEPTED, SUCCESSFUL = 0.0, 0.2  # of rho
GROW, SHRINK, SHRINK_REJECTED = 2.0, 0.75, 0.51
CRITICAL = 1e-3  # a predicted descent below it ends the region
Point = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Region:
    centre: Point  # (d,)
    values: Point  # (m,)
    radius: float = FIRST_RADIUS
    # Of the trial that was proposed last; empty: none yet
    trial: Point = ()  # (d,)
    drop: Point = ()  # (m,)
    change: float = 0.0

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        points = {
            name: tuple(record[name]) for name in ("centre", "values", "trial", "drop")
        }
        return cls(**points, radius=record["radius"], change=record["change"])

    @property
    def box(self) -> Bounds:
        centre = np.array(self.centre)
        return Bounds(
            np.maximum(centre - self.radius, 0.0), np.minimum(centre + self.radius, 1.0)
        )

    @property
    def has_ended(self) -> bool:
        return self.radius < SMALLEST_RADIUS

    def with_trial(self, descent: Descent) -> Self:
        return replace(
            self,
            trial=tuple(descent.x.tolist()),
            drop=tuple(descent.drop.tolist()),
            change=descent.change,
        )

    def waits(self, awaited: Floats) -> bool:
        """Whether the trial is among the points still to be told, (k, d)."""
        return bool(self.trial) and find(self.trial, awaited) is not None

    def after_trial(self, X: Floats, F: Floats) -> Self:
        """The region once the trial is settled; without a value it was rejected."""
        if not self.trial:
            return self
        row = find(self.trial, X)
        if row is None:
            return self._rejected()
        values, drop = np.array(self.values), np.array(self.drop)
        quality = float(relative_change(F[[row]], values, drop)[0]) / self.change
        if quality <= ACCEPTED:
            return self._rejected()
        factor = GROW if quality >= SUCCESSFUL else SHRINK
        return replace(
            self,
            centre=tuple(X[row].tolist()),
            values=tuple(F[row].tolist()),
            radius=min(factor * self.radius, LARGEST_RADIUS),
            trial=(),
        )

    def _rejected(self) -> Self:
        return replace(self, radius=SHRINK_REJECTED * self.radius, trial=())


def find(point: Point, X: Floats) -> int | None:
    """The row of X that counts as the same point."""
    if len(X) == 0:
        return None
    distance = np.abs(X - np.array(point)).max(axis=1)
    nearest = int(distance.argmin())
    return nearest if distance[nearest] <= TOLERANCE else None
