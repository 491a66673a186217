"""When a study may be finished, as a range: from what is left to do, how long jobs
took, and the workers.

A batch is finished when each of its jobs is. Objectives that the same workers take
share their slots: a pool, computed as if each of its s slots took all of its
objectives. However the jobs of a pool are assigned to slots, they take at least max(sum
/ s, longest); assigned to the first free slot, at most sum / s + (1 - 1/s) longest
[Graham 1969]. Pools work in parallel. Without overlap, batches follow one another, with
a step planned before each. With an overlap of k, samples follow one another without a
break: at best k and a batch run at once, at worst k + 1, and planning is hidden at best.
The initial design is waited for as a whole. The low end takes the first quartile of each objective's durations and lets
running jobs end at once, the high end takes the third quartile and lets them begin now.
Cheap-only jobs are left out: full ones have priority, and no step waits for the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from counterpoise.wire.codes import HealthCode, Phase, StudyState
from counterpoise.wire.specification import AUTO
from counterpoise.wire.views import OutputView, StudyView, WorkerView
from counterpoise.wire.work import matches

LOW, HIGH = 0, 1  # which quartile


@dataclass(frozen=True, slots=True)
class Eta:
    """Seconds from now; `unknown` is the reason why there is no range."""

    low_s: float | None = None
    high_s: float | None = None
    unknown: str | None = None


@dataclass(slots=True)
class Pool:
    """Runs that share workers, and the slots of these workers."""

    objectives: list[OutputView]
    workers: list[WorkerView] = field(default_factory=list)

    @property
    def slots(self) -> int:
        return sum(worker.slots for worker in self.workers)

    def low_s(
        self,
        samples: int,
        *,
        including_running: bool = True,
        most: int | None = None,
    ) -> float:
        """The shortest time for this number of samples; optionally without the jobs
        that run already, or with a limit to the samples at once.
        """
        slots = self._used_slots(most)
        total = longest = 0.0
        for objective in self.objectives:
            jobs = samples if including_running else max(samples - objective.leased, 0)
            if jobs:
                duration_s = _quartile(objective, LOW)
                total += jobs * duration_s
                longest = max(longest, duration_s)
        return max(total / slots, longest)

    def high_s(self, samples: int, *, most: int | None = None) -> float:
        if not samples:
            return 0.0
        slots = self._used_slots(most)
        durations = [_quartile(objective, HIGH) for objective in self.objectives]
        return samples * sum(durations) / slots + (1.0 - 1.0 / slots) * max(durations)

    def _used_slots(self, most: int | None) -> int:
        """The slots that this number of samples can use."""
        if most is None:
            return self.slots
        return min(self.slots, most * len(self.objectives))


def eta(study: StudyView, workers: Sequence[WorkerView]) -> Eta:
    if study.phase == Phase.FINISHED:
        return Eta(0.0, 0.0)
    runs = [output for output in study.outputs if output.same_run_as is None]
    able = [worker for worker in workers if _takes_jobs_of(worker, study.name)]
    unknown = _why_unknown(study, runs, able)
    if unknown:
        return Eta(unknown=unknown)
    shared = pools(runs, able)
    batch_size = _batch_size(study)
    steps = math.ceil((study.budget - study.planned_full) / batch_size)
    planning_s = steps * (study.planning_s or 0.0)
    if study.overlap > 0:
        return _without_breaks(study, shared, batch_size, planning_s)
    return _batch_by_batch(study, shared, batch_size, planning_s)


def _batch_size(study: StudyView) -> int:
    """Full samples of one step; automatic ones fill the slots."""
    declared = study.spec["batch_size"]
    return max(study.slow_slots, 1) if declared == AUTO else int(declared)


def _without_breaks(
    study: StudyView, shared: Sequence[Pool], batch_size: int, planning_s: float
) -> Eta:
    most, least = study.overlap + batch_size, study.overlap + 1
    unsettled = study.planned_full - study.evaluated_full
    to_come = study.budget - study.planned_full
    low_s = high_s = 0.0
    if study.phase == Phase.INITIAL:
        low_s = max(pool.low_s(unsettled, including_running=False) for pool in shared)
        high_s = max(pool.high_s(unsettled) for pool in shared)
        low_s += max(pool.low_s(to_come, most=most) for pool in shared)
        high_s += max(pool.high_s(to_come, most=least) for pool in shared)
    else:
        left = unsettled + to_come
        low_s = max(
            pool.low_s(left, including_running=False, most=most) for pool in shared
        )
        high_s = max(pool.high_s(left, most=least) for pool in shared)
    return Eta(low_s, planning_s + high_s)


def _batch_by_batch(
    study: StudyView, shared: Sequence[Pool], batch_size: int, planning_s: float
) -> Eta:
    unsettled = study.planned_full - study.evaluated_full
    batches, rest = divmod(study.budget - study.planned_full, batch_size)
    low_s = max(pool.low_s(unsettled, including_running=False) for pool in shared)
    low_s += batches * max(pool.low_s(batch_size) for pool in shared)
    low_s += max(pool.low_s(rest) for pool in shared)
    high_s = max(pool.high_s(unsettled) for pool in shared)
    high_s += batches * max(pool.high_s(batch_size) for pool in shared)
    high_s += max(pool.high_s(rest) for pool in shared)
    return Eta(planning_s + low_s, planning_s + high_s)


def _takes_jobs_of(worker: WorkerView, study: str) -> bool:
    return worker.alive and not worker.drained and matches(worker.studies, study)


def _why_unknown(
    study: StudyView, runs: Sequence[OutputView], workers: Sequence[WorkerView]
) -> str | None:
    if study.state == StudyState.PAUSED:
        return "the study is paused"
    for item in study.health:
        if item.code == HealthCode.RUN_HANGS:
            return f"job {item.job} hangs"
        if item.code in (HealthCode.PLANNER_MISSING, HealthCode.STEP_FAILED):
            return "the next step is not being planned"
    for run in runs:
        if run.duration_quartiles_s is None:
            return f"{run.name} has had too few evaluations"
    for run in runs:
        if not any(matches(worker.objectives, run.name) for worker in workers):
            return f"no live worker takes {run.name}"
    return None


def pools(runs: Sequence[OutputView], workers: Sequence[WorkerView]) -> list[Pool]:
    """Runs that share a worker, directly or through others, with all workers that
    they share.
    """
    found: list[Pool] = []
    for worker in workers:
        names = {run.name for run in runs if matches(worker.objectives, run.name)}
        members = [worker]
        for pool in list(found):
            pool_names = {objective.name for objective in pool.objectives}
            if pool_names & names:
                found.remove(pool)
                names |= pool_names
                members += pool.workers
        if names:
            found.append(Pool([run for run in runs if run.name in names], members))
    return found


def _quartile(objective: OutputView, which: int) -> float:
    quartiles = objective.duration_quartiles_s or (0.0, 0.0)
    return quartiles[which]
