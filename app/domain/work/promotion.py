"""Promotion: a cheap-only sample becomes a full one, with jobs for what it lacks."""

from collections.abc import Collection, Sequence
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
    # Those of them that wait until the sample's cheap runs are settled
    waiting: list[int] = field(default_factory=list)


def promotions(
    samples: Sequence[int],
    jobs: Sequence[Job],
    runs: Sequence[int],
    waiting: Collection[int] = (),
) -> list[Promotion]:
    """`jobs`: all jobs of the samples. `waiting`: slow runs that wait for cheap ones.
    Samples that were ruled out meanwhile are left out: their slow runs would be wasted.
    """
    by_sample: dict[int, list[Job]] = {sample: [] for sample in samples}
    for job in jobs:
        by_sample[job.sample].append(job)
    found = []
    for sample, own in by_sample.items():
        if not any(job.sample_infeasible for job in own):
            found.append(_promotion(sample, own, runs, waiting))
    return found


def _promotion(
    sample: int, jobs: Sequence[Job], runs: Sequence[int], waiting: Collection[int]
) -> Promotion:
    promotion = Promotion(sample)
    for job in jobs:
        if job.state is JobState.SUPERSEDED:
            promotion.revived.append(job)
        elif not job.state.is_settled:
            promotion.continued.append(job)
    has_job = {job.objective for job in jobs}
    promotion.missing = [run for run in runs if run not in has_job]
    unsettled = [job.objective for job in promotion.continued + promotion.revived]
    if any(run not in waiting for run in unsettled + promotion.missing):
        promotion.waiting = [run for run in promotion.missing if run in waiting]
    return promotion
