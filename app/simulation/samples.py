"""The samples of a simulated study, their jobs and values, and the counters that the
stepping rule reads.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.optimizer.samples import Samples as KnownSamples
from app.optimizer.snapshot import Data
from app.simulation.pools import Job
from counterpoise.wire.codes import JobState

Array = NDArray[np.float64]


@dataclass(slots=True)
class Sample:
    x: Array  # (d,)
    full: bool
    step: int  # search step that proposed it; 0 = the design or a stream
    jobs: dict[int, Job]  # by objective
    values: dict[int, float] = field(default_factory=dict)
    unsettled: int = 0

    @property
    def has_failed(self) -> bool:
        return any(job.state is JobState.FAILED for job in self.jobs.values())


@dataclass(slots=True)
class Samples:
    d: int
    m: int
    all: list[Sample] = field(default_factory=list)
    unsettled_full: int = 0  # samples
    # By objective and whether full
    unsettled_jobs: Counter[tuple[int, bool]] = field(default_factory=Counter)

    def add(
        self, X: Array, objectives: Iterable[int], *, full: bool, step: int
    ) -> list[Job]:
        """One sample per row, with a job for each of the objectives."""
        wanted = tuple(objectives)
        first = len(self.all)
        for k, x in enumerate(X):
            jobs = {j: Job(first + k, j, full) for j in wanted}
            self.all.append(Sample(x, full, step, jobs, unsettled=len(jobs)))
        self.unsettled_full += full * len(X)
        for j in wanted:
            self.unsettled_jobs[j, full] += len(X)
        return list(self.jobs(first))

    def jobs(self, first: int = 0) -> Iterator[Job]:
        """Of all samples from this one on."""
        for sample in self.all[first:]:
            yield from sample.jobs.values()

    def add_cheap(self, points: Sequence[Array], *, step: int) -> list[Job]:
        """Cheap-only samples: the points of each objective, where equal points are one
        sample.
        """
        wanted: dict[bytes, tuple[Array, list[int]]] = {}
        for j, X in enumerate(points):
            for x in X:
                wanted.setdefault(x.tobytes(), (x, []))[1].append(j)
        jobs = []
        for x, objectives in wanted.values():
            jobs += self.add(x[None], objectives, full=False, step=step)
        return jobs

    def promote(self, number: int, step: int) -> list[Job]:
        """A cheap-only sample becomes a full one; the jobs that it lacks."""
        sample = self.all[number]
        for job in sample.jobs.values():
            job.overtaken = False
        lacking = [j for j in range(self.m) if self._is_lacking(sample, j)]
        jobs = {j: Job(number, j, full=True) for j in lacking}
        sample.jobs |= jobs
        sample.full, sample.step = True, step
        sample.unsettled += len(jobs)
        self.unsettled_full += sample.unsettled > 0
        for j in lacking:
            self.unsettled_jobs[j, True] += 1
        return list(jobs.values())

    def _is_lacking(self, sample: Sample, j: int) -> bool:
        return j not in sample.jobs or sample.jobs[j].state is JobState.SUPERSEDED

    def pool(self) -> list[int]:
        """Cheap-only samples with a value and without a failure: they can be promoted."""
        return [
            i
            for i, sample in enumerate(self.all)
            if not sample.full and sample.values and not sample.has_failed
        ]

    def settle(self, job: Job, value: float | None = None) -> None:
        """The job is done with this value, or failed for good, or superseded."""
        sample = self.all[job.sample]
        if value is not None:
            sample.values[job.objective] = value
        sample.unsettled -= 1
        self.unsettled_full -= sample.full and sample.unsettled == 0
        self.unsettled_jobs[job.objective, job.full] -= 1

    def supersede_cheap_only(self) -> None:
        for sample in self.all:
            if sample.unsettled and not sample.full:
                for job in sample.jobs.values():
                    if job.state is JobState.READY:
                        job.state = JobState.SUPERSEDED
                        self.settle(job)
                    elif job.state is JobState.LEASED:
                        job.overtaken = True

    def full(self) -> list[int]:
        return [i for i, sample in enumerate(self.all) if sample.full]

    def running(self) -> list[int]:
        """Full samples that are not settled."""
        return [i for i in self.full() if self.all[i].unsettled > 0]

    def unknown(self, ids: Iterable[int], j: int) -> Array:
        """Points of the samples whose job of objective j is not settled, (n, d)."""
        chosen = [i for i in ids if not self.all[i].jobs[j].state.is_settled]
        return self.points(chosen)

    def partly_known(self, ids: Iterable[int]) -> KnownSamples:
        """The values of the samples, as far as they are known."""
        chosen = list(ids)
        F = np.zeros((len(chosen), self.m))
        known = np.zeros((len(chosen), self.m), dtype=np.bool_)
        for row, i in enumerate(chosen):
            for j, value in self.all[i].values.items():
                F[row, j], known[row, j] = value, True
        steps = np.array([self.all[i].step for i in chosen], dtype=np.int64)
        return KnownSamples(self.points(chosen), F, known, steps)

    def complete(self) -> list[int]:
        """Full samples with a value of every objective."""
        return [i for i in self.full() if len(self.all[i].values) == self.m]

    def told(self, j: int) -> list[int]:
        return [i for i, sample in enumerate(self.all) if j in sample.values]

    def asked(self, j: int) -> list[int]:
        return [i for i, sample in enumerate(self.all) if j in sample.jobs]

    def points(self, ids: Iterable[int]) -> Array:
        return np.array([self.all[i].x for i in ids]).reshape(-1, self.d)

    def values(self, ids: Iterable[int]) -> Array:
        """(n, m) of complete samples."""
        return np.array(
            [[self.all[i].values[j] for j in range(self.m)] for i in ids]
        ).reshape(-1, self.m)

    def data(self, ids: Iterable[int], j: int) -> Data:
        chosen = list(ids)
        return Data(
            self.points(chosen), np.array([self.all[i].values[j] for i in chosen])
        )
