"""When a study may be finished, as a range: from what is left to do, how long jobs
took, and the workers.

A batch is finished when each of its jobs is. Objectives that the same workers take
share their slots: a pool, computed as if each of its s slots took all of its
objectives. However the jobs of a pool are assigned to slots, they take at least max(sum
/ s, longest); assigned to the first free slot, at most sum / s + (1 - 1/s) longest
[Graham 1969]. Pools work in parallel, batches one after the other, with a step planned
before each. The low end takes the first quartile of each objective's durations and lets
running jobs end at once, the high end takes the third quartile and lets them begin now.
Cheap-only jobs are left out: full ones have priority, and no step waits for the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from counterpoise.wire.codes import Phase, StudyState
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

    def low_s(self, samples: int, *, including_running: bool = True) -> float:
        """The shortest time for so many samples; optionally without the jobs that run
        already.
        """
        total = longest = 0.0
        for objective in self.objectives:
            jobs = samples if including_running else max(samples - objective.leased, 0)
            if jobs:
                duration_s = _quartile(objective, LOW)
                total += jobs * duration_s
                longest = max(longest, duration_s)
        return max(total / self.slots, longest)

    def high_s(self, samples: int) -> float:
        if not samples:
            return 0.0
        durations = [_quartile(objective, HIGH) for objective in self.objectives]
        return samples * sum(durations) / self.slots + (1.0 - 1.0 / self.slots) * max(
            durations
        )


def eta(study: StudyView, workers: Sequence[WorkerView]) -> Eta:
    if study.phase == Phase.FINISHED:
        return Eta(0.0, 0.0)
    runs = [output for output in study.outputs if output.same_run_as is None]
    able = [worker for worker in workers if _takes_jobs_of(worker, study.name)]
    unknown = _why_unknown(study, runs, able)
    if unknown:
        return Eta(unknown=unknown)
    shared = pools(runs, able)
    unsettled = study.planned_full - study.evaluated_full
    batch_size = int(study.spec["batch_size"])
    batches, rest = divmod(study.budget - study.planned_full, batch_size)
    steps = batches + 1 if rest else batches
    planning_s = steps * (study.planning_s or 0.0)
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
    for run in runs:
        if run.duration_quartiles_s is None:
            return f"{run.name} has been evaluated too seldom"
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
