"""How the model of one objective was fitted, and how well it predicts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.kriging.kriging import Kriging


@dataclass(frozen=True, slots=True)
class ModelReport:
    size: int  # values that it was fitted to
    theta: tuple[float, ...] | None  # None: `warm_start` has the hyperparameters
    log_likelihood: float
    # Leave-one-out Q2 = 1 - sum (y - mean)^2 / sum (y - y_bar)^2; None for constant
    # values
    skill: float | None
    # Share of leave-one-out residuals within 2 standard deviations; ideally about 0.95
    calibration: float | None
    frozen_theta: tuple[float, ...] | None  # of the frozen member of the ensemble
    # The rest is of models by evidence:
    structure: str | None = None  # of the kernel
    stream: bool | None = None  # whether it learnt from the stream's data too
    # Mean leave-one-out log density at full samples, in units of the values' deviation
    log_density: float | None = None
    frozen_weight: float | None = None  # of the frozen member, 0 to 1
    warm_start: dict[str, Any] | None = None  # what the next step's fit starts from


def report_on(model: Kriging, frozen: Kriging | None) -> ModelReport:
    y = np.asarray(model.y_)[model.rows_]
    skill, calibration = _leave_one_out(model, y)
    # As given to the model, not as the model shows it: the next step must begin with
    # the same bits.
    frozen_theta = None if frozen is None else _plain(np.asarray(frozen.theta0))
    return ModelReport(
        len(y),
        _plain(model.theta_),
        float(model.log_likelihood_),
        skill,
        calibration,
        frozen_theta,
    )


def _leave_one_out(model: Kriging, y: Floats) -> tuple[float | None, float | None]:
    """Skill and calibration; None where the values do not vary."""
    mean, std = model.leave_one_out()  # (n,), (n,)
    return skill_and_calibration(y, mean, std)


def skill_and_calibration(
    y: Floats, mean: Floats, std: Floats
) -> tuple[float | None, float | None]:
    """Of leave-one-out predictions; None where the values do not vary."""
    total = float(np.sum((y - y.mean()) ** 2))
    if len(y) < 2 or total == 0.0 or not np.isfinite(mean).all():
        return None, None
    residuals = y - mean  # (n,)
    skill = 1.0 - float(np.sum(residuals**2)) / total
    calibration = float(np.mean(np.abs(residuals) <= 2.0 * std))
    return skill, calibration


def _plain(theta: Floats) -> tuple[float, ...]:
    return tuple(float(coefficient) for coefficient in theta)
