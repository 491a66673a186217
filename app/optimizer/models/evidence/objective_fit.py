"""The model by evidence of one objective at one step: a task that can be sent to another
process.

| symbol | here        | meaning                                                       |
|--------|-------------|---------------------------------------------------------------|
| D_j^c' | `frozen`    | values of the stream of cheap objective j                     |
| GP_j^c'| `Frozen`    | fitted to them once; `weight` is what it earned               |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.fit import fit
from app.optimizer.models.evidence.hyperparameters import (
    ETA,
    Hyperparameters,
    Structure,
)
from app.optimizer.models.evidence.posterior import Posterior
from app.optimizer.models.evidence.structure_choice import (
    Candidate,
    Choice,
    Options,
    choose_model,
)
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.models.fit_task import thin
from app.optimizer.models.kriging.standardise import is_constant
from app.optimizer.models.model_report import ModelReport, skill_and_calibration
from app.optimizer.snapshot import Data, WarmStart


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceTask:
    told: Told
    awaited: Floats  # (k, d): points whose values are still to come
    deviations: float  # by which a value believed there is above its mean
    warm_start: WarmStart | None
    turn: int  # see `choose_model`
    seed: int
    groups: tuple[int, ...]
    # Declared standard deviation of the values' noise; else the nugget is fitted
    noise: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FittedObjective:
    model: Posterior  # believes what is awaited
    # As fitted; its first rows are the full samples
    fitted: Posterior
    full: int
    report: ModelReport


def fit_objective(task: EvidenceTask) -> FittedObjective:
    before = None if task.warm_start is None else Choice.from_json(task.warm_start)
    rng = np.random.default_rng(task.seed)
    options = Options(np.array(task.groups), declared_nugget(task.noise, task.told))
    chosen, choice = choose_model(task.told, before, task.turn, rng, options)
    posterior = chosen.posterior
    return FittedObjective(
        model=posterior.believe(task.awaited, task.deviations),
        fitted=posterior,
        full=chosen.full,
        report=_report(chosen, choice.as_json()),
    )


def declared_nugget(noise: float | None, told: Told) -> float | None:
    """noise^2 as a share of the values' variance, within the nugget's bounds; None: it
    is fitted.
    """
    values = np.concatenate([told.full.y, told.extra.y, told.stream.y])
    if not noise or bool(is_constant(values)):
        return None
    share = (noise / float(values.std())) ** 2
    low, high = np.exp([ETA.low, ETA.high])
    return float(np.clip(share, low, high))


def _report(chosen: Candidate, warm_start: dict[str, Any]) -> ModelReport:
    posterior = chosen.posterior
    left_out = posterior.leave_one_out()
    std = np.sqrt(left_out.variance)
    skill, calibration = skill_and_calibration(posterior.y, left_out.mean, std)
    deviation = 1.0 if posterior.constant else float(posterior.y.std())
    density = left_out.log_density[: chosen.full or None]
    return ModelReport(
        size=len(posterior.y),
        theta=None,
        log_likelihood=posterior.log_likelihood,
        skill=skill,
        calibration=calibration,
        frozen_theta=None,
        structure=chosen.structure.value,
        stream=chosen.stream,
        log_density=float(np.mean(density) + np.log(deviation)),
        warm_start=warm_start,
    )


@dataclass(frozen=True, slots=True, eq=False)
class FrozenTask:
    data: Data
    # Found at an earlier step: then the model is only conditioned
    hyperparameters: Mapping[str, Any] | None
    groups: tuple[int, ...]


def fit_stream(task: FrozenTask) -> Posterior:
    """The same model, to the last bit, whether its hyperparameters are found now or were
    found at an earlier step.
    """
    data = thin(task.data)
    rows = np.unique(data.X, axis=0, return_index=True)[1]
    start = None
    if task.hyperparameters is not None:
        start = Hyperparameters.from_json(task.hyperparameters)
    return fit(
        Structure.MATERN,
        data.X[rows],
        data.y[rows],
        np.random.default_rng(len(data)),  # not the step's: the same at every step
        start=start,
        groups=np.array(task.groups),
        tune=start is None,
    )
