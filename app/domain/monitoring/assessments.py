"""Assessments of convergence and of models, as codes."""

from collections.abc import Sequence

from counterpoise.wire.codes import Convergence, ModelAssessment

STALLED_SHARE = 0.001  # of the hypervolume, gained by the latest steps
SLOWING_SHARE = 0.01
FEWEST_VALUES = 5  # of a model, before it is judged
FEWEST_FORECASTS = 8  # before they are preferred to leave-one-out calibration
LEAST_WITHIN_TWO = 0.7  # 0.95 is ideal
GOOD_SKILL = 0.9
FAIR_SKILL = 0.5


def convergence_assessment(gain_share: float | None) -> Convergence:
    """`gain_share`: what the latest steps gained, relative to the hypervolume before."""
    if gain_share is None:
        return Convergence.TOO_EARLY
    if gain_share < STALLED_SHARE:
        return Convergence.STALLED
    return Convergence.SLOWING if gain_share < SLOWING_SHARE else Convergence.IMPROVING


def model_assessment(
    size: int,
    skill: float | None,
    calibration: float | None,
    surprises: Sequence[float],
) -> ModelAssessment:
    """`surprises`: errors of predictions that were made before the value was known, in
    predicted deviations.
    """
    if size < FEWEST_VALUES or skill is None:
        return ModelAssessment.UNKNOWN
    share = within_two(surprises)
    if share is None or len(surprises) < FEWEST_FORECASTS:
        share = calibration
    if share is not None and share < LEAST_WITHIN_TWO:
        return ModelAssessment.OVERCONFIDENT
    if skill >= GOOD_SKILL:
        return ModelAssessment.GOOD
    return ModelAssessment.FAIR if skill >= FAIR_SKILL else ModelAssessment.POOR


def within_two(surprises: Sequence[float]) -> float | None:
    """Share of predictions within 2 deviations."""
    if not surprises:
        return None
    return sum(abs(surprise) <= 2.0 for surprise in surprises) / len(surprises)
