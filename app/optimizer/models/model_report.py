"""How the model of one objective was fitted, and how far it can be trusted."""

from dataclasses import dataclass

import numpy as np

from app.optimizer.models.kriging import Kriging


@dataclass(frozen=True, slots=True)
class ModelReport:
    """How the model of one objective was fitted, and how far it may be believed."""

    size: int  # values that it was fitted to
    theta: tuple[float, ...]
    log_likelihood: float
    skill: float | None  # leave-one-out Q2 = 1 - sum (y - mean)^2 / sum (y - y_bar)^2; None for constant values
    calibration: float | None  # share of leave-one-out residuals within 2 standard deviations; about 0.95 is right
    frozen_theta: tuple[float, ...] | None  # of the frozen member of the ensemble


def report_on(model: Kriging | None, frozen: Kriging | None) -> ModelReport | None:
    if model is None:
        return None
    y = np.asarray(model.y_)[model.rows_]
    mean, std = model.leave_one_out()
    total = float(np.sum((y - y.mean()) ** 2))
    usable = len(y) > 1 and total > 0.0 and bool(np.isfinite(mean).all())
    return ModelReport(
        size=len(y),
        theta=tuple(float(each) for each in model.theta_),
        log_likelihood=float(model.log_likelihood_),
        skill=1.0 - float(np.sum((y - mean) ** 2)) / total if usable else None,
        calibration=float(np.mean(np.abs(y - mean) <= 2.0 * std)) if usable else None,
        # As given to the model, not as it reads them back: the next step must begin with the same bits.
        frozen_theta=None if frozen is None else tuple(float(each) for each in np.asarray(frozen.theta0)),
    )
