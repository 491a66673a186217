"""How many jobs of each objective wait, and why."""

from collections.abc import Sequence

from app.domain.studies import Objective, Study
from app.domain.work.sample_rules import runs_that_wait
from app.domain.workers import WorkerPool, pool_of
from app.store.database import Connection
from app.store.studies.jobs import head_ages
from app.store.studies.studies import leased_counts
from app.store.work.live_workers import held_leases, live_workers
from counterpoise.wire.codes import WaitReason
from counterpoise.wire.monitoring.timeline import QueueDepth
from counterpoise.wire.text import format_span


def queue_depths(
    connection: Connection, study: Study, objectives: Sequence[Objective]
) -> list[QueueDepth]:
    runs = [objective for objective in objectives if objective.has_jobs]
    leased = leased_counts(connection, study.id)
    after_cheap = runs_that_wait(study, objectives)
    ages = head_ages(connection, [run.id for run in runs], after_cheap)
    held = held_leases(connection)
    workers = live_workers(connection, held)
    depths = []
    for run in runs:
        running = leased.get(run.id, 0)
        ready = run.ready(running)
        age_s = ages.get(run.id)
        pool = pool_of(workers, held, study.name, run.name)
        reason = _reason(study, pool, running, age_s) if ready > 0 else None
        depth = QueueDepth(
            objective=run.name,
            ready=ready,
            leased=running,
            waiting=run.waiting,
            waiting_s=age_s,
            reason=reason,
            detail=None if reason is None else _detail(reason, ready, age_s),
        )
        depths.append(depth)
    return depths


def _reason(
    study: Study, pool: WorkerPool, leased: int, age_s: float | None
) -> WaitReason:
    if study.is_paused:
        return WaitReason.PAUSED
    if not pool.able and pool.drained:
        return WaitReason.WORKERS_DRAINED
    if not pool.able and not leased:
        return WaitReason.NO_WORKER
    if age_s is None:
        return WaitReason.BACKING_OFF
    # A run of this study may be held by a worker that asks for others now
    is_free = pool.has_free_slots
    return WaitReason.NEXT_ASK if is_free else WaitReason.WORKERS_BUSY


def _detail(reason: WaitReason, ready: int, age_s: float | None) -> str:
    jobs = "1 job waits" if ready == 1 else f"{ready} jobs wait"
    since = "" if age_s is None else f", the first for {format_span(max(age_s, 0.0))}"
    consequence = {
        WaitReason.PAUSED: "the study is paused; resume it",
        WaitReason.NO_WORKER: "no live worker takes this objective; start one",
        WaitReason.WORKERS_DRAINED: "all workers that take it are drained; undrain one",
        WaitReason.WORKERS_BUSY: "all workers that take it are busy",
        WaitReason.NEXT_ASK: "a worker with a free slot gets one with its next ask",
        WaitReason.BACKING_OFF: "they failed and are tried again shortly",
    }
    return f"{jobs}{since}: {consequence[reason]}"
