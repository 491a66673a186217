"""How many jobs of each objective wait, and why."""

from collections.abc import Sequence

from app.domain.studies import Objective, Study
from app.domain.work.sample_rules import runs_that_wait
from app.domain.workers import Worker
from app.store.database import Connection
from app.store.studies.jobs import head_ages
from app.store.studies.studies import leased_counts
from app.store.work.live_workers import live_workers
from counterpoise.wire.codes import WaitReason
from counterpoise.wire.monitoring.timeline import QueueDepth
from counterpoise.wire.text import format_span
from counterpoise.wire.work import matches


def queue_depths(
    connection: Connection, study: Study, objectives: Sequence[Objective]
) -> list[QueueDepth]:
    runs = [objective for objective in objectives if objective.has_jobs]
    leased = leased_counts(connection, study.id)
    after_cheap = runs_that_wait(study, objectives)
    ages = head_ages(connection, [run.id for run in runs], after_cheap)
    workers = [
        worker
        for worker in live_workers(connection)
        if matches(worker.studies, study.name)
    ]
    depths = []
    for run in runs:
        held = leased.get(run.id, 0)
        ready = run.ready(held)
        age_s = ages.get(run.id)
        reason = _reason(study, run, workers, held, age_s) if ready > 0 else None
        depth = QueueDepth(
            objective=run.name,
            ready=ready,
            leased=held,
            waiting=run.waiting,
            waiting_s=age_s,
            reason=reason,
            detail=None if reason is None else _detail(reason, ready, age_s),
        )
        depths.append(depth)
    return depths


def _reason(
    study: Study,
    run: Objective,
    workers: Sequence[Worker],
    leased: int,
    age_s: float | None,
) -> WaitReason:
    if study.is_paused:
        return WaitReason.PAUSED
    able = [worker for worker in workers if matches(worker.objectives, run.name)]
    if not able and not leased:
        return WaitReason.NO_WORKER
    if able and all(worker.drained for worker in able):
        return WaitReason.WORKERS_DRAINED
    return WaitReason.BACKING_OFF if age_s is None else WaitReason.WORKERS_BUSY


def _detail(reason: WaitReason, ready: int, age_s: float | None) -> str:
    jobs = "1 job waits" if ready == 1 else f"{ready} jobs wait"
    since = "" if age_s is None else f", the first for {format_span(max(age_s, 0.0))}"
    consequence = {
        WaitReason.PAUSED: "the study is paused; resume it",
        WaitReason.NO_WORKER: "no live worker takes this objective; start one",
        WaitReason.WORKERS_DRAINED: "all workers that take it are drained; undrain one",
        WaitReason.WORKERS_BUSY: "all workers that take it are busy",
        WaitReason.BACKING_OFF: "they failed and are tried again shortly",
    }
    return f"{jobs}{since}: {consequence[reason]}"
