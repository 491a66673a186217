"""The processes that compute for a planner: one for its steps and, below it, those that
fit models.

All of them run at a lower priority and exit with the planner. The planner itself only
reads and writes the database: a process that holds a lock must not be slowed by a low
priority or by computations in the same interpreter.
"""

import os
from multiprocessing.util import Finalize
from typing import Any

from app.domain.steps import Step
from app.process_pool import RestartingPool, follow_parent
from app.service.planning.plan import Plan
from app.store.database import Database

NICENESS = 10
MOST_FITTERS = 8
STEP_MODULE = "app.service.planning.compute_step"


class StepProcess:
    """A process that computes steps, one at a time."""

    def __init__(self, database_url: str) -> None:
        self._pool = RestartingPool(1, STEP_MODULE, _initialize, database_url)

    def compute(self, step: Step) -> Plan:
        (plan,) = self._pool.map(_compute, [step])
        return plan  # type: ignore[no-any-return]

    def close(self) -> None:
        self._pool.close()


_resources: dict[str, Any] = {}  # of the step process


def _initialize(database_url: str) -> None:
    os.nice(NICENESS)  # which the fitters inherit
    follow_parent()
    size = min(os.cpu_count() or 1, MOST_FITTERS)
    fitters = RestartingPool(size, None, follow_parent)
    _resources["database"] = Database(database_url, pool_size=1)
    _resources["fitters"] = fitters
    # At exit, close the pool first: otherwise this process and the fitters would wait
    # for each other.
    Finalize(None, fitters.close, exitpriority=100)


def _compute(step: Step) -> Plan:
    # Here: the planner imports this module and needs no numerical libraries
    from app.service.planning.compute_step import (
        compute_step,
    )

    return compute_step(_resources["database"], step, fit=_resources["fitters"].map)
