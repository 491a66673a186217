"""Worker pools in virtual time: one pool per objective, jobs queued full samples first,
then oldest.
"""

import heapq
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count
from math import isfinite

import numpy as np

from counterpoise.wire.codes import JobState

MOST_LOG_SIGMA = 3.0
LEASE = 2.0  # latencies after which a job whose worker vanished is given to another


@dataclass(frozen=True, slots=True)
class Pool:
    latency: float  # mean duration of one evaluation
    workers: int = 1
    jitter: float = 0.0  # durations vary by up to this share of the latency, uniformly
    failure: float = 0.0  # probability that an attempt fails
    # of the logarithm of a duration, whose mean stays the latency; 0: see jitter
    log_sigma: float = 0.0
    # probability that a worker vanishes during an attempt; another takes its place when
    # the lease expires
    vanish: float = 0.0

    def __post_init__(self) -> None:
        latency = isfinite(self.latency) and self.latency > 0
        if not (
            latency
            and self.workers >= 1
            and 0 <= self.jitter < 1
            and 0 <= self.failure < 1
            and 0 <= self.vanish < 1
            and 0 <= self.log_sigma <= MOST_LOG_SIGMA
        ):
            raise ValueError(
                "a pool needs finite latency > 0, workers >= 1; jitter, failure and vanish in [0, 1);"
                f" log_sigma from 0 to {MOST_LOG_SIGMA:g}: {self}"
            )

    def duration(self, rng: np.random.Generator) -> float:
        if self.log_sigma:
            log_mean = -0.5 * self.log_sigma**2
            return self.latency * float(rng.lognormal(log_mean, self.log_sigma))
        return self.latency * (1.0 + self.jitter * rng.uniform(-1.0, 1.0))


@dataclass(slots=True, eq=False)
class Job:
    sample: int
    objective: int
    full: bool
    state: JobState = JobState.READY
    attempts: int = 0
    # a later step was taken while it was leased: its value is welcome, another attempt
    # is not
    overtaken: bool = False
    lost: bool = False  # its worker vanishes during this attempt


class TimerEnd(Enum):
    TIMER_END = auto()


TIMER_END = TimerEnd.TIMER_END


@dataclass(slots=True)
class Cluster:
    """All pools; `finish` moves the clock to the next attempt that ends, or to the end of
    a timer.
    """

    pools: tuple[Pool, ...]
    rng: np.random.Generator
    max_attempts: int = 3
    now: float = 0.0
    # Worker time given to attempts, per pool, until they end
    _busy: list[float] = field(init=False)
    _free: list[int] = field(init=False)
    _queues: list[list[tuple[bool, int, Job]]] = field(init=False)
    _running: list[tuple[float, int, Job]] = field(init=False, default_factory=list)
    _timer: float | None = None
    # When an attempt was started last, per pool
    last_start: list[float] = field(init=False)
    busy_at_last_start: list[float] = field(init=False)
    _order: "count[int]" = field(init=False, default_factory=count)

    def __post_init__(self) -> None:
        self._busy = [0.0] * len(self.pools)
        self.last_start = [0.0] * len(self.pools)
        self.busy_at_last_start = [0.0] * len(self.pools)
        self._free = [pool.workers for pool in self.pools]
        self._queues = [[] for _ in self.pools]

    def add(self, job: Job) -> None:
        heapq.heappush(
            self._queues[job.objective], (not job.full, next(self._order), job)
        )

    def lease(self) -> None:
        """Every free worker takes the head of its queue."""
        for i, queue in enumerate(self._queues):
            while self._free[i] and queue:
                _, _, job = heapq.heappop(queue)
                if job.state is JobState.READY:
                    self.start(job)

    def set_timer(self, seconds: float) -> None:
        self._timer = self.now + seconds

    def finish(self) -> Job | TimerEnd | None:
        """The next job that ends its attempt: done, failed for good, superseded or
        ready again; or the end of the timer; None: all is quiet.
        """
        self.lease()
        if self._timer is not None and self._is_first(self._timer):
            self.now, self._timer = self._timer, None
            return TIMER_END
        if not self._running:
            return None
        self.now, _, job = heapq.heappop(self._running)
        self._free[job.objective] += 1
        if job.lost:
            job.attempts -= 1  # a loss is no failure
            self._give_back(job)
        elif self.rng.random() >= self.pools[job.objective].failure:
            job.state = JobState.DONE
        elif job.attempts >= self.max_attempts:
            job.state = JobState.FAILED
        else:
            self._give_back(job)
        return job

    def _give_back(self, job: Job) -> None:
        if job.overtaken:
            job.state = JobState.SUPERSEDED
        else:
            job.state = JobState.READY
            self.add(job)

    def _is_first(self, time: float) -> bool:
        return not self._running or time <= self._running[0][0]

    def busy(self) -> tuple[float, ...]:
        """Worker time spent in each pool so far."""
        spent = list(self._busy)
        for end, _, job in self._running:
            spent[job.objective] -= end - self.now
        return tuple(spent)

    def busy_share(self) -> tuple[float, ...]:
        return tuple(
            spent / (pool.workers * self.now)
            for spent, pool in zip(self.busy(), self.pools, strict=True)
        )

    def start(self, job: Job) -> None:
        pool = self.pools[job.objective]
        duration = pool.duration(self.rng)
        job.lost = pool.vanish > 0.0 and bool(self.rng.random() < pool.vanish)
        if job.lost:
            duration = self.rng.random() * duration + LEASE * pool.latency
        self.last_start[job.objective] = self.now
        job.state, job.attempts = JobState.LEASED, job.attempts + 1
        self._free[job.objective] -= 1
        self.busy_at_last_start[job.objective] = self.busy()[job.objective]
        self._busy[job.objective] += duration
        heapq.heappush(self._running, (self.now + duration, next(self._order), job))
