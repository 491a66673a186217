"""What stands out on a front: the best sample of each objective, and the knee."""

from collections.abc import Sequence
from typing import Protocol

from counterpoise.wire.views import FrontItem

KNEE = "knee"


class Goal(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def direction(self) -> str: ...


def marks(front: Sequence[FrontItem], goals: Sequence[Goal]) -> dict[int, list[str]]:
    """By sample, in the order of the objectives: "best mass", ..., "knee".

    The knee is the sample nearest to the ideal point (the best value of every
    objective), after each objective was scaled to the range of the front.
    """
    found: dict[int, list[str]] = {}
    goals = [goal for goal in goals if _is_known(goal, front)]
    for goal in goals:
        if front:
            best = min(front, key=lambda item: _cost(item, goal))
            found.setdefault(best.sample, []).append(f"best {goal.name}")
    if len(front) > 2 and len(goals) > 1:
        found.setdefault(knee(front, goals).sample, []).append(KNEE)
    return found


def knee(front: Sequence[FrontItem], goals: Sequence[Goal]) -> FrontItem:
    ranges = []
    for goal in goals:
        costs = [_cost(item, goal) for item in front]
        ranges.append((min(costs), max(costs)))

    def distance(item: FrontItem) -> float:
        total = 0.0
        for goal, (low, high) in zip(goals, ranges, strict=True):
            if high > low:
                total += ((_cost(item, goal) - low) / (high - low)) ** 2
        return total

    return min(front, key=distance)


def sorted_front(front: Sequence[FrontItem], goals: Sequence[Goal]) -> list[FrontItem]:
    """By the first objective, the best first."""
    if not goals or any(goals[0].name not in item.values for item in front):
        return list(front)
    return sorted(front, key=lambda item: _cost(item, goals[0]))


def _is_known(goal: Goal, front: Sequence[FrontItem]) -> bool:
    return all(goal.name in item.values for item in front)


def _cost(item: FrontItem, goal: Goal) -> float:
    value = item.values[goal.name]
    return value if goal.direction == "minimize" else -value
