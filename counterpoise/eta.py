"""When a study may be finished, as a range, from what is left, how long jobs took and who is there.

A batch is finished when each of its jobs is. Objectives that the same workers take share their slots: a pool, reckoned
as if each of its s slots took all of its objectives. However its jobs are dealt to the slots, they take at least
max(sum / s, longest); dealt to whoever is free, at most sum / s + (1 - 1/s) longest [Graham 1969]. Pools work side by
side, batches one after the other, with a step planned before each. The low end takes each objective's first quartile of
durations and lets the running jobs end at once, the high end takes the third quartile and lets them begin now.
Cheap-only jobs are left out: full ones come first, and nobody waits for the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from counterpoise.wire.views import ObjectiveView, StudyView, WorkerView
from counterpoise.wire.work import matches


@dataclass(frozen=True, slots=True)
class Eta:
    """Seconds from now; `unknown` says why there is no range."""

    low_s: float | None = None
    high_s: float | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    objectives: list[ObjectiveView]
    slots: int


def eta(study: StudyView, workers: Sequence[WorkerView]) -> Eta:
    if study.phase == "finished":
        return Eta(0.0, 0.0)
    if study.state == "paused":
        return Eta(unknown="the study is paused")
    runs = [objective for objective in study.objectives if objective.same_run_as is None]
    for each in runs:
        if each.duration_quartiles_s is None:
            return Eta(unknown=f"{each.name} has been evaluated too seldom")
    able = [w for w in workers if w.alive and not w.drained and matches(w.studies, study.name)]
    for each in runs:
        if not any(matches(worker.objectives, each.name) for worker in able):
            return Eta(unknown=f"no live worker takes {each.name}")
    shared = pools(runs, able)
    out = study.planned_full - study.evaluated_full
    size = int(study.spec["batch_size"])
    whole, rest = divmod(study.budget - study.planned_full, size)
    planning = (whole + bool(rest)) * (study.planning_s or 0.0)
    low = max(_low(pool, out, running=True) for pool in shared)
    low += whole * max(_low(pool, size) for pool in shared) + max(_low(pool, rest) for pool in shared)
    high = max(_high(pool, out) for pool in shared)
    high += whole * max(_high(pool, size) for pool in shared) + max(_high(pool, rest) for pool in shared)
    return Eta(planning + low, planning + high)


def pools(runs: Sequence[ObjectiveView], workers: Sequence[WorkerView]) -> list[Pool]:
    """Objectives that share a worker, directly or through others, and all the slots that they share."""
    groups: list[tuple[set[str], set[str]]] = []  # names of objectives, names of workers
    for worker in workers:
        names = {each.name for each in runs if matches(worker.objectives, each.name)}
        who = {worker.worker}
        for group in [group for group in groups if group[0] & names]:
            groups.remove(group)
            names, who = names | group[0], who | group[1]
        if names:
            groups.append((names, who))
    slots = {worker.worker: worker.slots for worker in workers}
    return [
        Pool([each for each in runs if each.name in names], sum(slots[worker] for worker in who))
        for names, who in groups
    ]


def _low(pool: Pool, samples: int, *, running: bool = False) -> float:
    times = [(max(samples - (each.leased if running else 0), 0), _quartile(each, 0)) for each in pool.objectives]
    longest = max((took for count, took in times if count), default=0.0)
    return max(sum(count * took for count, took in times) / pool.slots, longest)


def _high(pool: Pool, samples: int) -> float:
    if not samples:
        return 0.0
    times = [_quartile(each, 1) for each in pool.objectives]
    return samples * sum(times) / pool.slots + (1.0 - 1.0 / pool.slots) * max(times)


def _quartile(objective: ObjectiveView, which: int) -> float:
    return (objective.duration_quartiles_s or (0.0, 0.0))[which]
