"""Runs that hang, slots that idle and workers that share a name: a code for programs, a
sentence for people.
"""

from collections.abc import Mapping, Sequence

from app.domain.studies import Objective, Study, slow_runs
from app.domain.work.hanging_runs import FACTOR, longest_expected_s
from app.domain.workers import RunningJob, Worker
from app.service.planning.slots import slow_slots
from counterpoise.wire.codes import HealthCode, Phase
from counterpoise.wire.text import format_span
from counterpoise.wire.views import HealthItem, OutputView

MOST_RUNS = 5  # named one by one


def hanging_run_items(
    running: Sequence[RunningJob],
    durations: Mapping[int, Sequence[float]],
    now: float,
) -> list[HealthItem]:
    items = []
    for run in running:
        expected_s = longest_expected_s(durations.get(run.objective, ()))
        took_s = now - run.leased_at
        if expected_s is not None and took_s > expected_s:
            items.append(_hanging_run(run, took_s))
    return items[:MOST_RUNS]


def _hanging_run(run: RunningJob, took_s: float) -> HealthItem:
    detail = (
        f"job {run.job} ({run.objective_name}) has run for {format_span(took_s)} with worker {run.worker}, more than"
        f" {FACTOR:.0f} times the upper quartile of such runs; see `counterpoise explain {run.job}`;"
        f" `counterpoise job cancel {run.job}` ends it, and `timeout_s: auto` does so by itself"
    )
    return HealthItem(
        code=HealthCode.RUN_HANGS,
        detail=detail,
        objective=run.objective_name,
        job=run.job,
        worker=run.worker,
    )


def idle_slot_items(
    study: Study,
    objectives: Sequence[Objective],
    views: Sequence[OutputView],
    alive: Sequence[Worker],
) -> list[HealthItem]:
    """Slow slots that idle because the next step waits for samples that run, as the
    declared `overlap` has it.
    """
    is_declared = isinstance(study.spec.overlap, int)
    is_searching = study.phase is Phase.SEARCH and not study.is_paused
    has_budget = study.planned_full < study.budget
    if not (is_declared and is_searching and has_budget):
        return []
    slots = slow_slots(study, objectives, alive)
    runs = slow_runs(study, objectives)
    busy = sum(views[run.position].leased for run in runs)
    ready = sum(views[run.position].ready for run in runs)
    is_barrier = slots > busy and not ready and study.unsettled_full > study.overlap
    if not is_barrier:
        return []
    detail = (
        f"{slots - busy} of {slots} slots for the slowest runs idle until at most {study.overlap} full samples"
        f' are unsettled, because `overlap` is {study.overlap}; a study with `overlap: "auto"` keeps them busy'
    )
    return [HealthItem(code=HealthCode.SLOTS_IDLE, detail=detail)]


def shared_name_items(alive: Sequence[Worker], now: float) -> list[HealthItem]:
    items = []
    for worker in alive:
        if worker.is_shared(now):
            detail = f"two processes ask as worker {worker.name}; start each with a name of its own"
            items.append(
                HealthItem(
                    code=HealthCode.WORKER_NAME_SHARED,
                    detail=detail,
                    worker=worker.name,
                )
            )
    return items
