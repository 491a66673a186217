"""The result of one step: the points to evaluate, and how they were found."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.model_report import ModelReport
from app.optimizer.models.step_models import Models
from app.optimizer.proposal.full_sample_report import CoModelReport, FullSampleReport
from app.optimizer.snapshot import WarmStart

# Where a proposed point came from, in the order in which the sources are used.
# `repeated`: a known point of a noisy objective.
Source = Literal["selected", "population", "offspring", "latin", "repeated"]


@dataclass(frozen=True, slots=True)
class Diagnostics:
    # None: no model (no value yet, or the truth was used)
    models: tuple[ModelReport | None, ...]
    alpha: float
    # (min, max) of SBP over the final population, per objective
    sbp: tuple[tuple[float, float], ...]
    population: int  # size of the final population
    full_sources: tuple[Source, ...]  # one per row of Proposal.full
    cheap_sources: tuple[tuple[Source, ...], ...]  # one per row of Proposal.cheap[j]
    full_samples: tuple[
        FullSampleReport, ...
    ] = ()  # one per promoted sample, then one per row of Proposal.full
    co_models: tuple[
        CoModelReport | None, ...
    ] = ()  # one per objective; None: there is no such model


@dataclass(frozen=True, slots=True)
class Timings:
    """Duration of each part of a step, in the units of the caller's clock."""

    fit: float = 0.0
    search: float = 0.0
    select: float = 0.0


def _no_rows() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    full: Floats  # (k, d): to be evaluated on all objectives
    # (k_j, d): to be evaluated on objective j only; equal rows across j are one sample
    cheap: tuple[Floats, ...]
    diagnostics: Diagnostics
    models: Models
    population: Floats  # (N, d): the final population of the search
    shortfall: str | None = None  # why there are fewer points than requested
    timings: Timings = Timings()
    # (k,): rows of Snapshot.pool to be evaluated on what they lack
    promoted: Ints = field(default_factory=_no_rows)

    @property
    def theta(self) -> tuple[Floats | None, ...]:
        """(d,) per objective: hyperparameters from which the next step's fits start."""
        return tuple(_theta(report) for report in self.diagnostics.models)

    @property
    def frozen_theta(self) -> tuple[Floats | None, ...]:
        """(d,) per objective: hyperparameters of the frozen models."""
        return tuple(_frozen_theta(report) for report in self.diagnostics.models)

    @property
    def warm_starts(self) -> tuple[WarmStart | None, ...]:
        """Plain JSON per objective: what the next step's fits start from."""
        reports = self.diagnostics.models
        return tuple(
            None if report is None else report.warm_start for report in reports
        )


def _theta(report: ModelReport | None) -> Floats | None:
    if report is None or report.theta is None:
        return None
    return np.array(report.theta)


def _frozen_theta(report: ModelReport | None) -> Floats | None:
    if report is None or report.frozen_theta is None:
        return None
    return np.array(report.frozen_theta)
