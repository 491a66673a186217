"""The process that predicts for an API server.

It restores the models that a planner has stored, which costs a factorisation and no
fit, and keeps the latest of them. It is started by the first request for predictions,
so that a server without such requests loads no numerical libraries.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.errors import PredictionsBusy
from app.process_pool import RestartingPool, follow_parent
from app.store.database import Database, open_existing
from app.store.monitoring.step_models import arrays_of_step
from counterpoise.wire.specification import Specification

MOST_MODELS = 8  # studies whose models the process keeps
LONGEST_WAIT_S = 20.0
MODELS_MODULE = "app.optimizer.models.model_arrays"


@dataclass(frozen=True, slots=True)
class PredictionTask:
    step: int  # whose models predict
    spec: Specification
    points: Sequence[Sequence[float]]  # in the user's units


# Rows of means and deviations by objective, minimised; None where there is no model
Predicted = tuple[list[list[float | None]], list[list[float | None]]]


class PredictionProcess:
    """Predicts one task at a time; the others wait."""

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url
        self._lock = threading.Lock()
        self._pool: RestartingPool | None = None

    def predict(self, task: PredictionTask) -> Predicted | None:
        """None if a later step has replaced the models meanwhile."""
        if not self._lock.acquire(timeout=LONGEST_WAIT_S):
            raise PredictionsBusy(
                "the server is computing other predictions; try again in a moment, with fewer points"
            )
        try:
            if self._pool is None:
                self._pool = RestartingPool(
                    1, MODELS_MODULE, _initialize, self._database_url
                )
            (predicted,) = self._pool.map(_predict, [task])
            return predicted  # type: ignore[no-any-return]
        finally:
            self._lock.release()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()


_resources: dict[str, Any] = {}  # of the process


def _initialize(database_url: str) -> None:
    follow_parent()
    _resources["database"] = open_existing(database_url)
    _resources["models"] = OrderedDict()


def _predict(task: PredictionTask) -> Predicted | None:
    models = _models(_resources["database"], _resources["models"], task.step)
    return None if models is None else _predict_points(models, task)


def _models(database: Database, kept: OrderedDict[int, Any], step: int) -> Any:
    """The models of a step, by objective; the latest used ones are kept."""
    # Imported here: the server imports this module and needs no numerical libraries.
    from app.optimizer.models.model_arrays import unpack

    if step not in kept:
        with database.read() as connection:
            arrays = arrays_of_step(connection, step)
        if arrays is None:
            return None
        kept[step] = unpack(arrays)
        if len(kept) > MOST_MODELS:
            kept.popitem(last=False)
    kept.move_to_end(step)
    return kept[step]


def _predict_points(models: Sequence[Any], task: PredictionTask) -> Predicted:
    import numpy as np

    from app.optimizer.space import encode
    from app.service.planning.snapshot import problem_of
    from app.service.planning.user_units import to_numbers

    problem = problem_of(task.spec, [1.0] * len(task.spec.outputs))
    X = to_numbers(task.spec.variables, task.points)  # (n, d)
    U = encode(problem.variables, X)
    means: list[Sequence[float | None]] = []
    deviations: list[Sequence[float | None]] = []
    for surrogate in models:
        if surrogate.model is None and surrogate.frozen is None:
            means.append([None] * len(U))
            deviations.append([None] * len(U))
            continue
        mean, variance = surrogate.mean_and_variance(U)
        means.append(mean.tolist())
        deviations.append(np.sqrt(variance).tolist())
    by_point = [list(row) for row in zip(*means, strict=True)]
    return by_point, [list(row) for row in zip(*deviations, strict=True)]
