"""What earlier steps predicted of their full samples, and what was told: the record by
which the strategy `counterpoise` chooses between two models of an objective.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from app.domain.samples import Sample
from app.domain.steps import Step
from app.optimizer.snapshot import Forecasts
from app.service.planning.past_samples import Past
from counterpoise.wire.codes import StepKind

# A sample's id and the report on it, see `FullSampleReport`
Report = tuple[int, dict[str, Any]]


def forecasts(past: Past, steps: Sequence[Step], step: Step) -> tuple[Forecasts, ...]:
    """One per output, in the order in which the values were told."""
    reports = []
    for earlier in steps:
        if earlier.number < step.number:
            reports += list(full_sample_reports(earlier, past.samples))
    return tuple(_forecasts_of(past, reports, i) for i in range(len(past.values)))


def full_sample_reports(step: Step, samples: Sequence[Sample]) -> Iterator[Report]:
    """Of the samples that a search step promoted, then of its new full ones."""
    new = [
        sample.id
        for sample in samples
        if sample.kind is StepKind.SEARCH
        and sample.number == step.number
        and sample.full
        and sample.promoted_in is None
    ]
    yield from zip([*step.promoted, *new], step.reports, strict=False)


def _forecasts_of(past: Past, reports: Sequence[Report], i: int) -> Forecasts:
    rows = []
    for sample, report in reports:
        told = past.values[i].get(sample)
        # A constraint has no such models
        co = report["co"][i] if i < len(report["co"]) else None
        if told is not None and co is not None:
            value, seq = told
            rows.append((seq, value, report["plain"][i], co))
    table = np.array(sorted(rows), dtype=float).reshape(len(rows), 4)
    return Forecasts(table[:, 1], table[:, 2], table[:, 3])
