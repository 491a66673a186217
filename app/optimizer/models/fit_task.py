"""The fit of one model to one data set: a task that can be sent to another process.

Above `MOST_FROZEN` points a frozen model is fitted to the best and to some of the
others; above `MOST_TUNED` points its hyperparameters come from a part of them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.kriging.kriging import Kriging
from app.optimizer.models.predictor import Predictor
from app.optimizer.snapshot import Data

MOST_FROZEN = 1100
MOST_TUNED = 545


@dataclass(frozen=True, slots=True)
class FitTask:
    data: Data
    # Where the fit starts; of a frozen model: found before, the model is only
    # factorised
    theta: Floats | None
    frozen: bool = False
    # (D,): coordinates of the same number share a coefficient; None: no two do
    groups: tuple[int, ...] | None = None
    noise: float | None = 0.0  # standard deviation; None: to be estimated


FrozenModels = Sequence[Predictor | None]  # one per objective, or empty
Task = TypeVar("Task")
Fitted = TypeVar("Fitted")


class Map(Protocol):
    """Like the builtin map; an executor's map fits objectives in parallel, with the
    same result.
    """

    def __call__(
        self, function: Callable[[Task], Fitted], tasks: Iterable[Task], /
    ) -> Iterable[Fitted]: ...


def fit_task(task: FitTask) -> Kriging:
    if task.frozen:
        return fit_frozen(task.data, task.theta, task.groups, task.noise)
    model = Kriging(theta0=task.theta, groups=task.groups, noise=task.noise)
    return model.fit(task.data.X, task.data.y)


def fit_frozen(
    data: Data,
    theta: Floats | None,
    groups: tuple[int, ...] | None = None,
    noise: float | None = 0.0,
) -> Kriging:
    """The same model, to the last bit, whether theta is found now or was found at an
    earlier step.
    """
    data = thin(data)
    if theta is None:
        rows = spread_over_values(data.y, MOST_TUNED)
        part = Kriging(groups=groups, noise=noise).fit(data.X[rows], data.y[rows])
        theta = part.theta_
    # With theta given, noise that is to be estimated is found by itself
    model = Kriging(theta0=theta, optimize=False, groups=groups, noise=noise)
    return model.fit(data.X, data.y)


def thin(data: Data) -> Data:
    """Above 1100 points: half of them the best, the others at random."""
    order = np.lexsort((*data.X.T[::-1], data.y))
    if len(data) > MOST_FROZEN:
        # Differs from [SBP-BO]: it learns from all. The same points at every step, so
        # not from the step's generator.
        rng = np.random.default_rng(len(data))
        half = MOST_FROZEN // 2
        others = rng.permutation(order[half:])[: MOST_FROZEN - half]
        order = np.append(order[:half], others)
    return Data(data.X[order], data.y[order])


def spread_over_values(y: Floats, most: int) -> Ints:
    """At most that many rows, evenly spaced in the order of their values."""
    order = np.argsort(y, kind="stable")
    places = np.linspace(0, len(y) - 1, min(most, len(y)))
    return order[places.round().astype(np.int64)]
