"""The kinds of models that the strategy can use: by evidence, or by Kriging."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.fit_task import Map
from app.optimizer.models.model_report import ModelReport
from app.optimizer.models.predictor import Predictor
from app.optimizer.problem import Problem
from app.optimizer.snapshot import Data, Snapshot, WarmStart
from app.optimizer.strategies.counterpoise.settings import CounterpoiseSettings


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The model of one objective; `warm_start` is what the next step's fit starts from."""

    model: Predictor
    report: ModelReport
    warm_start: WarmStart


@dataclass(frozen=True, slots=True, eq=False)
class FittedCoModel:
    model: Predictor  # of the inputs (x, C)
    warm_start: WarmStart


@dataclass(frozen=True, slots=True, eq=False)
class CoData:
    """What the co-model of one objective learns from."""

    data: Data  # points are (x, C), (n, d + p)
    groups: tuple[int, ...]  # of the coordinates of x
    warm_start: WarmStart | None
    seed: int


@dataclass(frozen=True, slots=True)
class Family:
    """`plain` fits the models of all objectives, in order; None where nothing is known."""

    plain: Callable[
        [Problem, Snapshot, CounterpoiseSettings, np.random.Generator, Map],
        list[Fitted | None],
    ]
    co: Callable[[CoData, CounterpoiseSettings], FittedCoModel]


class Constant:
    """Stands in for an objective of which nothing is known."""

    def mean(self, X: Floats) -> Floats:
        return np.zeros(len(X))

    def mean_and_std(self, X: Floats) -> tuple[Floats, Floats]:
        return np.zeros(len(X)), np.ones(len(X))
