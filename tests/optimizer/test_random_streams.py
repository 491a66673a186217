"""Stored studies are replayed: the seed of a step must never change."""

from itertools import product

import pytest

from app.optimizer.random_streams import NO_OBJECTIVE, generator, step_seed
from counterpoise.wire.codes import StepKind


@pytest.mark.parametrize(
    ("kind", "objective", "number", "seed"),
    [
        (StepKind.INITIAL, NO_OBJECTIVE, 0, [7, 0, 0, 0]),
        (StepKind.STREAM, 2, 5, [7, 1, 3, 5]),
        (StepKind.SEARCH, NO_OBJECTIVE, 4, [7, 2, 0, 4]),
        (StepKind.CLOSING, NO_OBJECTIVE, 300, [7, 3, 0, 300]),
    ],
)
def test_a_step_is_seeded_by_its_identity(
    kind: StepKind, objective: int, number: int, seed: list[int]
) -> None:
    assert step_seed(7, kind, objective, number) == seed


def test_steps_draw_different_numbers() -> None:
    draws = {
        generator(7, StepKind.STREAM, objective, number).random()
        for objective, number in product((0, 1), (1, 2))
    }
    assert len(draws) == 4
