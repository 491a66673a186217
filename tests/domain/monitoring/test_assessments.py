"""What figures of convergence and of models mean."""

import pytest

from app.domain.monitoring.assessments import (
    convergence_assessment,
    model_assessment,
    within_two,
)
from app.domain.monitoring.even_spread import spread
from counterpoise.wire.codes import Convergence, ModelAssessment


@pytest.mark.parametrize(
    ("share", "assessment"),
    [
        (None, Convergence.TOO_EARLY),
        (0.0, Convergence.STALLED),
        (0.005, Convergence.SLOWING),
        (0.05, Convergence.IMPROVING),
    ],
)
def test_convergence(share: float | None, assessment: Convergence) -> None:
    assert convergence_assessment(share) is assessment


@pytest.mark.parametrize(
    ("size", "skill", "calibration", "surprises", "assessment"),
    [
        (4, 0.99, 0.95, [], ModelAssessment.UNKNOWN),
        (40, None, None, [], ModelAssessment.UNKNOWN),
        (40, 0.95, 0.95, [], ModelAssessment.GOOD),
        (40, 0.7, 0.95, [], ModelAssessment.FAIR),
        (40, 0.1, 0.95, [], ModelAssessment.POOR),
        (40, 0.95, 0.5, [], ModelAssessment.OVERCONFIDENT),
        # What came in after the prediction counts more than leave-one-out.
        (40, 0.95, 0.5, [0.1] * 8, ModelAssessment.GOOD),
        (40, 0.95, 0.95, [5.0] * 8, ModelAssessment.OVERCONFIDENT),
        (40, 0.95, 0.95, [5.0] * 7, ModelAssessment.GOOD),
    ],
)
def test_model(
    size: int,
    skill: float | None,
    calibration: float | None,
    surprises: list[float],
    assessment: ModelAssessment,
) -> None:
    assert model_assessment(size, skill, calibration, surprises) is assessment


def test_within_two() -> None:
    assert within_two([]) is None
    assert within_two([-2.0, 0.0, 2.1, 3.0]) == 0.5


def test_a_spread_has_both_ends_and_is_even() -> None:
    assert spread(0, 5) == []
    assert spread(3, 5) == [1, 2, 3]
    assert spread(101, 5) == [1, 26, 51, 76, 101]
    assert spread(9, 1) == [9]
