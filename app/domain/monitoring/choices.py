"""Designs of a front that stand out: best in one objective, knee, nearest to a target.

All objectives are scaled to the front's own range, 0 for its best and 1 for its worst
value, so that units do not matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

AUGMENTATION = 1e-3  # of the sum, so that ties of the largest shortfall are decided
Values = Sequence[float]  # of one design, by objective, all minimised


@dataclass(frozen=True, slots=True)
class Scale:
    """The ranges of the objectives on a front."""

    best: tuple[float, ...]
    span: tuple[float, ...]

    @classmethod
    def of(cls, front: Sequence[Values]) -> "Scale":
        columns = list(zip(*front, strict=True))
        best = tuple(min(column) for column in columns)
        worst = tuple(max(column) for column in columns)
        spans = (high - low for low, high in zip(best, worst, strict=True))
        return cls(best, tuple(span or 1.0 for span in spans))

    def apply(self, objective: int, value: float) -> float:
        return (value - self.best[objective]) / self.span[objective]


def best_in(front: Sequence[Values], objective: int) -> int:
    """The index of the best design; of several, the one with the smallest sum."""
    scale = Scale.of(front)

    def rank(index: int) -> tuple[float, float]:
        return front[index][objective], scaled_sum(scale, front[index])

    return min(range(len(front)), key=rank)


def knee(front: Sequence[Values]) -> int:
    """The design farthest below the plane through the extremes of the scaled front.

    On scaled objectives this is the one with the smallest sum.
    """
    scale = Scale.of(front)
    return min(range(len(front)), key=lambda index: scaled_sum(scale, front[index]))


def nearest(front: Sequence[Values], target: Mapping[int, float]) -> int:
    """The design whose largest shortfall from the target is smallest (Wierzbicki's
    achievement function); objectives without a target decide between equals.
    """
    scale = Scale.of(front)

    def shortfall(index: int) -> float:
        values = front[index]
        gaps = [
            scale.apply(objective, values[objective])
            - scale.apply(objective, target_value)
            for objective, target_value in target.items()
        ]
        return max(gaps) + AUGMENTATION * scaled_sum(scale, values)

    return min(range(len(front)), key=shortfall)


def scaled_sum(scale: Scale, values: Values) -> float:
    return sum(scale.apply(objective, value) for objective, value in enumerate(values))
