"""A study in virtual time draws the random numbers that the service would."""

from types import SimpleNamespace
from typing import Any

import pytest

from app.service.planning import execute_step as plan
from app.simulation.steps import DESIGN, SEARCH, STREAM, generator


@pytest.mark.parametrize(
    ("kind", "objective", "number", "mine"),
    [
        ("initial", -1, 0, (DESIGN, 0, 0)),
        ("stream", 2, 5, (STREAM, 3, 5)),
        ("search", -1, 4, (SEARCH, 0, 4)),
    ],
)
def test_a_step_has_the_same_generator(kind: str, objective: int, number: int, mine: tuple[int, int, int]) -> None:
    step: Any = SimpleNamespace(kind=kind, objective=objective, number=number)
    assert generator(7, *mine).random() == plan.generator(7, step).random()
