"""What figures of convergence and of models mean."""

import pytest

from app.domain.even_spread import spread
from app.domain.verdicts import convergence_verdict, model_verdict, within_two
from counterpoise.wire.codes import Convergence, ModelVerdict


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (None, Convergence.TOO_EARLY),
        (0.0, Convergence.STALLED),
        (0.005, Convergence.SLOWING),
        (0.05, Convergence.IMPROVING),
    ],
)
def test_convergence(share: float | None, verdict: Convergence) -> None:
    assert convergence_verdict(share) is verdict


@pytest.mark.parametrize(
    ("size", "skill", "calibration", "surprises", "verdict"),
    [
        (4, 0.99, 0.95, [], ModelVerdict.UNKNOWN),
        (40, None, None, [], ModelVerdict.UNKNOWN),
        (40, 0.95, 0.95, [], ModelVerdict.GOOD),
        (40, 0.7, 0.95, [], ModelVerdict.FAIR),
        (40, 0.1, 0.95, [], ModelVerdict.POOR),
        (40, 0.95, 0.5, [], ModelVerdict.OVERCONFIDENT),
        # What came in after the prediction counts more than leave-one-out.
        (40, 0.95, 0.5, [0.1] * 8, ModelVerdict.GOOD),
        (40, 0.95, 0.95, [5.0] * 8, ModelVerdict.OVERCONFIDENT),
        (40, 0.95, 0.95, [5.0] * 7, ModelVerdict.GOOD),
    ],
)
def test_model(
    size: int,
    skill: float | None,
    calibration: float | None,
    surprises: list[float],
    verdict: ModelVerdict,
) -> None:
    assert model_verdict(size, skill, calibration, surprises) is verdict


def test_within_two() -> None:
    assert within_two([]) is None
    assert within_two([-2.0, 0.0, 2.1, 3.0]) == 0.5


def test_a_spread_has_both_ends_and_is_even() -> None:
    assert spread(0, 5) == []
    assert spread(3, 5) == [1, 2, 3]
    assert spread(101, 5) == [1, 26, 51, 76, 101]
    assert spread(9, 1) == [9]
