"""What a step knows of its objectives: one surrogate per objective.

| symbol | here             | meaning                                                               |
|--------|------------------|-----------------------------------------------------------------------|
| D^t    | `X`, `F`         | the full samples chosen for training; the search starts from them     |
| –      | `low`, `spread`  | minimum and range of each objective over D^t                          |
"""

from dataclasses import dataclass

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.feasibility import Feasibility
from app.optimizer.models.model_report import ModelReport
from app.optimizer.models.predictor import Predictor
from app.optimizer.models.surrogate import Surrogate


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    X: Floats  # (n, D)
    F: Floats  # (n, m)
    low: Floats  # (m,)
    spread: Floats  # (m,)
    surrogates: tuple[Surrogate, ...]  # one per objective
    reports: tuple[ModelReport | None, ...]  # one per output
    feasibility: Feasibility | None = None  # None: there are no limits

    @property
    def frozen(self) -> tuple[Predictor | None, ...]:
        """The frozen models, which never change: the next step can reuse them."""
        return tuple(surrogate.frozen for surrogate in self.surrogates)

    def means(self, X: Floats) -> Floats:
        """(N, m)"""
        return np.stack([surrogate.mean(X) for surrogate in self.surrogates], axis=1)

    def means_and_variances(self, X: Floats) -> tuple[Floats, Floats]:
        """(N, m), (N, m)"""
        means, variances = [], []
        for surrogate in self.surrogates:
            mean, variance = surrogate.mean_and_variance(X)
            means.append(mean)
            variances.append(variance)
        return np.stack(means, axis=1), np.stack(variances, axis=1)
