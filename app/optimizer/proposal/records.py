"""What a step proposes, and what it learnt on the way."""

from dataclasses import dataclass
from typing import Literal

from app.optimizer.arrays import Floats

# Where a proposed point came from, in the order in which the sources are used.
Source = Literal["selected", "population", "offspring", "latin"]


@dataclass(frozen=True, slots=True)
class ModelReport:
    """How the model of one objective was fitted, and how far it may be believed."""

    size: int  # values that it was fitted to
    theta: tuple[float, ...]
    log_likelihood: float
    skill: float | None  # leave-one-out Q2 = 1 - sum (y - mean)^2 / sum (y - y_bar)^2; None for constant values
    calibration: float | None  # share of leave-one-out residuals within 2 standard deviations; about 0.95 is right
    frozen_theta: tuple[float, ...] | None  # of the frozen member of the ensemble


@dataclass(frozen=True, slots=True)
class Diagnostics:
    models: tuple[ModelReport | None, ...]  # None: no model (no value yet, or the truth was used)
    alpha: float
    sbp: tuple[tuple[float, float], ...]  # (min, max) of SBP over the final population, per objective
    population: int  # size of the final population
    full_sources: tuple[Source, ...]  # one per row of Proposal.full
    cheap_sources: tuple[tuple[Source, ...], ...]  # one per row of Proposal.cheap[j]


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    full: Floats  # (k, d): to be evaluated on all objectives
    cheap: tuple[Floats, ...]  # (k_j, d): to be evaluated on objective j only; equal rows across j are one sample
    diagnostics: Diagnostics
    shortfall: str | None = None  # why there are fewer points than asked for
