"""Promotion: a cheap-only sample becomes a full one, with jobs for what it lacks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.jobs import Job
from counterpoise.wire.codes import JobState


@dataclass(slots=True)
class Promotion:
    """What becomes of the jobs of one promoted sample."""

    sample: int
    # Unsettled jobs, which are a full sample's from now on.
    continued: list[Job] = field(default_factory=list)
    # Superseded jobs, which are ready again.
    revived: list[Job] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)  # runs that get a new job


def promotions(
    samples: Sequence[int], jobs: Sequence[Job], runs: Sequence[int]
) -> list[Promotion]:
    """`jobs`: all jobs of the samples. Samples that were ruled out meanwhile are left
    out: their slow runs would be wasted.
    """
    by_sample: dict[int, list[Job]] = {sample: [] for sample in samples}
    for job in jobs:
        by_sample[job.sample].append(job)
    found = []
    for sample, own in by_sample.items():
        if not any(job.sample_infeasible for job in own):
            found.append(_promotion(sample, own, runs))
    return found


def _promotion(sample: int, jobs: Sequence[Job], runs: Sequence[int]) -> Promotion:
    promotion = Promotion(sample)
    for job in jobs:
        if job.state is JobState.SUPERSEDED:
            promotion.revived.append(job)
        elif not job.state.is_settled:
            promotion.continued.append(job)
    has_job = {job.objective for job in jobs}
    promotion.missing = [run for run in runs if run not in has_job]
    return promotion
