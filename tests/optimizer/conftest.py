"""Small problems and studies that the optimiser's tests share."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings

from app.optimizer.arrays import Floats
from app.optimizer.problem import Objective, Problem, Variable
from app.optimizer.snapshot import Data, Snapshot

# No deadline, for a busy machine is no bug; and the same examples every time, for a
# failure must be found again.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

MakeProblem = Callable[..., Problem]
MakeSnapshot = Callable[..., Snapshot]


def make_problem(
    d: int = 3,
    ratios: tuple[float, ...] = (5.0, 1.0),
    integer_levels: tuple[int, ...] = (),
) -> Problem:
    """d floats in [0, 1], of which the first are integers with the given numbers of
    levels.
    """
    integers = [
        Variable(f"k{i}", 0, levels - 1, "int")
        for i, levels in enumerate(integer_levels)
    ]
    floats = [Variable(f"x{i}", 0.0, 1.0) for i in range(d - len(integers))]
    objectives = tuple(Objective(f"f{i}") for i in range(len(ratios)))
    return Problem((*integers, *floats), objectives, ratios)


def evaluate(X: Floats, m: int) -> Floats:
    """Distances from m points on the cube's edges, bent a little: a smooth problem with
    a front, (n, m).
    """
    centres = np.eye(m, X.shape[1]) if m > 1 else np.full((1, X.shape[1]), 0.3)
    return np.stack(
        [
            ((X - c) ** 2).sum(axis=1) + 0.1 * np.sin(5.0 * X).sum(axis=1) + 3.0
            for c in centres
        ],
        axis=1,
    )


def make_snapshot(
    problem: Problem, n: int = 25, stream: int = 60, seed: int = 0, **changes: object
) -> Snapshot:
    """A study about to take its second step: a design, streams of the cheap objectives,
    and the extras of step 1.
    """
    from app.optimizer.search.design import initial_design

    rng = np.random.default_rng(seed)
    X = initial_design(problem, n, rng)
    frozen: list[Data | None] = [None] * problem.m
    extra = [Data(np.empty((0, problem.width)), np.empty(0))] * problem.m
    for j in problem.cheap:
        told = initial_design(problem, stream, rng)
        frozen[j] = Data(told, evaluate(told, problem.m)[:, j])
        told = initial_design(problem, 6, rng)
        extra[j] = Data(told, evaluate(told, problem.m)[:, j])
    fields: dict[str, object] = {
        "step": 2,
        "settled": len(X),
        "budget": 60,
        "batch": 3,
        "X": X,
        "F": evaluate(X, problem.m),
        "extra": tuple(extra),
        "extra_steps": tuple(np.ones(len(data), dtype=np.int64) for data in extra),
        "frozen": tuple(frozen),
    }
    return Snapshot(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.fixture(name="make_problem")
def _make_problem() -> MakeProblem:
    return make_problem


@pytest.fixture(name="make_snapshot")
def _make_snapshot() -> MakeSnapshot:
    return make_snapshot


@pytest.fixture(name="evaluate")
def _evaluate() -> Callable[[Floats, int], Floats]:
    return evaluate
