"""The planner: a process that runs due steps, one at a time, and lets leases expire. Any number of them may run."""

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from app.domain.steps import Step
from app.errors import CounterpoiseError, DatabaseUnusable
from app.fault_points import point
from app.planner.step_process import Thinker
from app.service.monitoring.events import trim
from app.service.planning.commit_step import commit_step, record_fault
from app.service.planning.compute_step import Plan, compute_step
from app.service.work.expire import clean_up, expire_leases
from app.settings import Settings
from app.store.database import Database
from app.store.studies.steps import any_to_claim, claim_step, extend_claim
from app.store.wakeups import watch

log = structlog.stdlib.get_logger("counterpoise.planner")
CLAIM_S = 30.0  # a planner that was killed is replaced after so long
TICK_S = 1.0
TRIM_EVERY_S = 60.0
LONGEST_BACKOFF_S = 300.0


def run(settings: Settings, stop: threading.Event) -> None:
    """Plan until told to stop."""
    database = Database(settings.database_url, pool_size=3)
    thinker = Thinker(settings.database_url)
    wake = threading.Event()
    threads = [
        threading.Thread(target=watch, args=(database, wake.set, stop), name="watcher", daemon=True),
        threading.Thread(
            target=keep_house, args=(database, settings.events_kept_days, stop), name="expiry", daemon=True
        ),
    ]
    for thread in threads:
        thread.start()
    log.info("planning", database="sqlite" if database.is_sqlite else "postgresql", pid=os.getpid())
    try:
        while not stop.is_set():
            wake.clear()
            if not attempt(lambda: plan_one(database, thinker.prepare)):
                wake.wait(TICK_S)
    finally:
        stop.set()
        thinker.close()
        for thread in threads:
            thread.join(5)
        database.close()


def attempt(work: Callable[[], bool]) -> bool:
    """Neither a database that is away for a while nor a fault in one study must end the planner."""
    try:
        return work()
    except CounterpoiseError as error:
        log.warning("the database does not answer; trying again", reason=str(error).splitlines()[0])
    except Exception as error:
        log.error("the planner goes on after a fault", exc_info=error)
    return False


def keep_house(database: Database, events_kept_days: float, stop: threading.Event) -> None:
    def work() -> bool:
        clean_up(database)
        return expire_leases(database) > 0

    trim_at = 0.0
    while not stop.wait(TICK_S):
        attempt(work)
        # At once again if there was something to forget: it goes in small parts.
        if time.monotonic() > trim_at and not attempt(lambda: trim(database, events_kept_days) > 0):
            trim_at = time.monotonic() + TRIM_EVERY_S


def plan_one(database: Database, compute: Callable[[Step], Plan] | None = None) -> bool:
    """Claim a step, compute it (here, unless it is said where), commit it; False if none is due."""
    with database.read() as connection:
        is_due = any_to_claim(connection)
    step = database.write(claim_step, CLAIM_S) if is_due else None
    if step is None:
        return False
    point("step.claimed")
    began = time.perf_counter()
    facts = {"study": step.study, "kind": step.kind, "objective": step.objective, "number": step.number}
    try:
        with claimed(database, step) as lost:
            plan = compute(step) if compute else compute_step(database, step)
        done = not lost.is_set() and commit_step(database, step, plan)
        log.info("step" if done else "step given up", **facts, took_s=round(time.perf_counter() - began, 3))
    except DatabaseUnusable:  # nobody's fault; the claim runs out by itself
        raise
    except Exception as error:  # noqa: BLE001  whatever a study's data do to the optimiser, the other studies go on
        note_fault(database, step, error, facts)
    return True


def note_fault(database: Database, step: Step, error: Exception, facts: dict[str, Any]) -> None:
    backoff_s = min(2.0**step.faults, LONGEST_BACKOFF_S)
    log.error("step failed", **facts, again_in_s=backoff_s, exc_info=error)
    words = "".join(traceback.format_exception_only(error)).strip()
    record_fault(database, step, words, backoff_s)


@contextmanager
def claimed(database: Database, step: Step) -> Iterator[threading.Event]:
    """Keep the claim alive while the step is computed; the event says that it was lost."""
    over, lost = threading.Event(), threading.Event()

    def keep() -> None:
        while not over.wait(CLAIM_S / 3):
            try:
                if not database.write(extend_claim, step, CLAIM_S):
                    lost.set()
                    return
            except CounterpoiseError:
                continue  # the commit decides whether the claim still stands

    thread = threading.Thread(target=keep, name="claim", daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        over.set()
        thread.join()
