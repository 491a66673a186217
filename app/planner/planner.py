"""The planner: a process that executes due steps, one at a time, and expires leases.

Any number of them may run.
"""

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from app.domain.backoff import backoff
from app.domain.steps import CLAIM_S, LONGEST_RETRY_S, Step
from app.errors import CounterpoiseError, DatabaseUnusable
from app.fault_points import point
from app.logs import first_line
from app.planner.step_process import StepProcess
from app.service.monitoring.events import trim
from app.service.planning.commit_step import commit_step, record_fault
from app.service.planning.plan import Plan
from app.service.planning.slots import follow_slots
from app.service.work.automatic_timeouts import follow_durations
from app.service.work.expire import clean_up, expire_leases
from app.service.work.workers import forget_idle
from app.settings import Settings
from app.store.database import Database
from app.store.studies.steps import any_to_claim, claim_step, extend_claim
from app.store.wakeups import watch

log = structlog.stdlib.get_logger("counterpoise.planner")
POLL_S = 1.0
TRIM_S = 60.0
TIMEOUTS_S = 10.0
THREAD_END_S = 5.0


def run(settings: Settings, stop: threading.Event) -> None:
    """Plan until `stop` is set."""
    database = Database(settings.database_url, pool_size=3)
    step_process = StepProcess(settings.database_url)
    wake = threading.Event()
    watcher = threading.Thread(
        target=watch, args=(database, wake.set, stop), daemon=True
    )
    housekeeper = threading.Thread(
        target=run_housekeeping,
        args=(database, settings, stop),
        daemon=True,
    )
    watcher.start()
    housekeeper.start()
    log.info(
        "planner started",
        database="sqlite" if database.is_sqlite else "postgresql",
        pid=os.getpid(),
    )
    try:
        while not stop.is_set():
            wake.clear()
            if not run_logging_errors(
                "planning", plan_one, database, step_process.compute
            ):
                wake.wait(POLL_S)
    finally:
        stop.set()
        step_process.close()
        watcher.join(THREAD_END_S)
        housekeeper.join(THREAD_END_S)
        database.close()


def run_housekeeping(
    database: Database, settings: Settings, stop: threading.Event
) -> None:
    """Until `stop` is set: expire leases and follow the workers' slots every second,
    automatic time limits every ten; trim old events and forget idle workers every
    minute.
    """
    trim_at = timeouts_at = 0.0
    while not stop.wait(POLL_S):
        run_logging_errors("expiring leases", clean_up_and_expire, database)
        run_logging_errors("updating slots", follow_slots, database)
        if time.monotonic() > timeouts_at:
            run_logging_errors("updating time limits", follow_durations, database)
            timeouts_at = time.monotonic() + TIMEOUTS_S
        if time.monotonic() > trim_at:
            trimmed = run_logging_errors(
                "trimming events", trim, database, settings.events_kept_days
            )
            forgotten = run_logging_errors(
                "forgetting workers", forget_idle, database, settings.workers_kept_days
            )
            # Otherwise there may be more: each call deletes a part
            if not (trimmed or forgotten):
                trim_at = time.monotonic() + TRIM_S


def clean_up_and_expire(database: Database) -> int:
    clean_up(database)
    return expire_leases(database)


def run_logging_errors(
    task: str, function: Callable[..., Any], *arguments: Any
) -> bool:
    """Call the function and log its errors, so that none ends the planner; returns
    whether it did something.
    """
    try:
        return bool(function(*arguments))
    except CounterpoiseError as error:
        log.warning(
            "task failed; trying again",
            task=task,
            error=type(error).__name__,
            reason=first_line(error),
        )
    except Exception as error:
        log.error("task failed; trying again", task=task, exc_info=error)
    return False


def plan_one(database: Database, compute: Callable[[Step], Plan] | None = None) -> bool:
    """Claim a due step, compute it (by default in this process) and commit it; False if
    none is due.
    """
    step = claim_due_step(database)
    if step is None:
        return False
    point("step.claimed")
    started = time.perf_counter()
    step_log = log.bind(
        study=step.study, kind=step.kind, objective=step.objective, number=step.number
    )
    try:
        with claim_kept(database, step) as lost:
            plan = compute(step) if compute else _compute_here(database, step)
        is_done = not lost.is_set() and commit_step(database, step, plan)
        took_s = round(time.perf_counter() - started, 3)
        step_log.info("step" if is_done else "step given up", took_s=took_s)
    except DatabaseUnusable:  # the step is not at fault; its claim expires
        raise
    except Exception as error:  # noqa: BLE001  an error in one study's step must not stop the others
        backoff_s = backoff(1.0, step.faults, LONGEST_RETRY_S)
        step_log.error("step failed", retry_s=backoff_s, exc_info=error)
        fault = "".join(traceback.format_exception_only(error)).strip()
        record_fault(database, step, fault, backoff_s)
    return True


def _compute_here(database: Database, step: Step) -> Plan:
    # Here: a planner with a step process needs no numerical libraries
    from app.service.planning.compute_step import (
        compute_step,
    )

    return compute_step(database, step)


def claim_due_step(database: Database) -> Step | None:
    with database.read() as connection:
        is_due = any_to_claim(connection)
    return database.write(claim_step, CLAIM_S) if is_due else None


@contextmanager
def claim_kept(database: Database, step: Step) -> Iterator[threading.Event]:
    """Prolong the claim while the step is computed; the event is set if the claim is
    lost.
    """
    computed, lost = threading.Event(), threading.Event()

    def prolong() -> None:
        while not computed.wait(CLAIM_S / 3):
            try:
                is_kept = database.write(extend_claim, step, CLAIM_S)
            except CounterpoiseError:
                continue  # the commit checks the claim again
            if not is_kept:
                lost.set()
                return

    thread = threading.Thread(target=prolong, daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        computed.set()
        thread.join()
