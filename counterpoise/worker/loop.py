"""The worker's loop: asks when slots are free, evaluates, tells; ends in good order."""

import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from counterpoise.client import Client
from counterpoise.connection import pause_s
from counterpoise.errors import RequestFailed, ServerAway
from counterpoise.wire.work import Ask, Asked, Failure, Job, Tell
from counterpoise.worker.active_job import Held
from counterpoise.worker.evaluators.evaluator import Evaluator, Outcome, failed
from counterpoise.worker.heartbeats import Heart
from counterpoise.worker.log import Log
from counterpoise.worker.spool import Spool
from counterpoise.worker.teller import Teller

MOST_JOBS = 256  # of one ask
RELEASE_S = 5.0  # a server that does not answer now lets the leases expire
LONGEST_REST_S = 60.0  # of a slot that loses job after job
MOST_UNTOLD = 16  # results that wait to be told, and one a slot: then no more jobs are asked for
SLOT_S = 35.0  # for evaluators that were told to end what they run


@dataclass(frozen=True, slots=True)
class Terms:
    """What a worker was asked to do."""

    name: str
    studies: tuple[str, ...]
    slots: int = 1
    max_jobs: int | None = None
    until_finished: bool = False
    timeout_s: float | None = None
    grace_s: float = 30.0
    wait_s: float = 20.0  # of one ask

    def patience_s(self) -> float:
        """The end of a study is only said when the wait is over."""
        return min(self.wait_s, 5.0) if self.until_finished else self.wait_s


class Loop:
    """`run` returns when the work is done or `stop` was called; it raises RequestFailed if it never got an answer."""

    def __init__(
        self, client: Client, evaluators: Mapping[str, Evaluator], spool: Spool, terms: Terms, log: Log
    ) -> None:
        self._client = client
        self._evaluators = evaluators
        self._terms = terms
        self._log = log
        self._teller = Teller(client, spool, log)
        self._heart = Heart(client, self._holding, log)
        self._changed = threading.Condition()
        self._held: dict[int, Held] = {}  # by slot
        self._queues: list[queue.SimpleQueue[Held | None]] = [queue.SimpleQueue() for _ in range(terms.slots)]
        self._taken = 0
        self._stops = 0
        self._ending = threading.Event()  # patience is over
        self._asks_over = False
        self._failure: Exception | None = None

    def stop(self) -> None:
        """Once: finish what runs, for as long as the grace lasts. Twice: at once. Safe in a signal handler."""
        self._stops += 1

    def run(self) -> None:
        slots = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(self._terms.slots)]
        asker = threading.Thread(target=self._ask_on, name="asker", daemon=True)
        self._teller.start()
        self._heart.start()
        for thread in (*slots, asker):
            thread.start()
        self._wait_for_work()
        self._end_what_runs()
        for waiting in self._queues:
            waiting.put(None)
        deadline = time.monotonic() + SLOT_S
        for thread in slots:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._heart.stop()
        left = self._teller.flush(RELEASE_S if self._stops else self._terms.grace_s)
        if left:
            self._log.warning("results are not told yet; the next worker with this spool tells them", results=left)
        self._teller.stop()
        if self._failure is not None:
            raise self._failure

    def _wait_for_work(self) -> None:
        """Until nothing is left to do, or patience is over."""
        deadline: float | None = None
        while self._stops < 2:
            if self._stops and deadline is None:
                self._log.info("finishing what runs", jobs=len(self._holding()), grace_s=self._terms.grace_s)
                deadline = time.monotonic() + self._terms.grace_s
            with self._changed:
                if not self._held and (self._asks_over or self._stops):
                    return
                if deadline is not None and time.monotonic() >= deadline:
                    return
                self._changed.wait(0.2)  # a signal handler can only count

    def _end_what_runs(self) -> None:
        self._ending.set()
        held = self._holding()
        for each in held:
            each.end("stopped", "the worker is stopped")
        leases = [each.job.lease for each in held if each.reason == "stopped"]
        if leases:
            self._log.info("giving jobs back", jobs=len(leases))
            giving = threading.Thread(target=self._release, args=(leases,), daemon=True)
            giving.start()
            giving.join(RELEASE_S)

    def _holding(self) -> list[Held]:
        with self._changed:
            return list(self._held.values())

    # asking

    def _ask_on(self) -> None:
        try:
            self._ask_until_done()
        except Exception as error:  # noqa: BLE001  whatever it is, `run` raises it when what runs is finished
            self._failure = error
        with self._changed:
            self._asks_over = True
            self._changed.notify_all()

    def _ask_until_done(self) -> None:
        tried, heard, said = 0, False, ""
        while (wanted := self._wanted()) > 0:
            try:
                asked = self._ask(wanted)
            except RequestFailed as error:
                if not (heard or isinstance(error, ServerAway)):
                    raise  # wrong from the beginning; later it may only be a token that is being changed
                if tried == 0:
                    self._log.warning(f"no jobs can be asked for: {error}")
                self._rest(pause_s(tried))
                tried += 1
                continue
            if tried:
                self._log.info("the server answers again")
            tried, heard = 0, True
            self._take(asked.jobs)
            if asked.reason == "finished" and self._terms.until_finished:
                return
            if asked.reason == "drained":
                self._log.info(f"no more jobs: {asked.detail}")
                return
            if asked.detail and asked.detail != said:
                self._log.info(f"no jobs: {asked.detail}", reason=asked.reason)
            said = asked.detail or ""

    def _ask(self, wanted: int) -> Asked:
        began = time.monotonic()
        objectives = list(self._evaluators)
        terms = self._terms
        asked = self._client.ask(
            Ask(
                worker=terms.name,
                studies=list(terms.studies),
                objectives=objectives,
                max_jobs=wanted,
                wait_s=terms.patience_s(),
            )
        )
        if not asked.jobs and asked.reason not in ("finished", "drained") and time.monotonic() - began < 1.0:
            self._rest(asked.retry_after_s or 1.0)  # it did not wait: it is about to stop, say
        return asked

    def _wanted(self) -> int:
        """How many jobs could run now; waits for a slot. 0: no more are to be asked for."""
        with self._changed:
            while not self._stops:
                limit = self._terms.max_jobs
                left = MOST_JOBS if limit is None else limit - self._taken
                if left <= 0:
                    return 0
                free = self._terms.slots - len(self._held)
                # A worker that takes jobs faster than the server takes results loses their leases before it can tell.
                untold = self._teller.waiting >= MOST_UNTOLD + self._terms.slots
                if free and not untold:
                    return min(free, left, MOST_JOBS)
                self._changed.wait(0.05 if untold else None)
            return 0

    def _take(self, jobs: list[Job]) -> None:
        with self._changed:
            if not self._stops:
                free = [slot for slot in range(self._terms.slots) if slot not in self._held]
                for slot, job in zip(free, jobs, strict=False):
                    held = self._held[slot] = Held(job, self._limit_s(job))
                    self._queues[slot].put(held)
                self._taken += len(jobs)
                jobs = []
        self._heart.look()
        if jobs:  # the worker was told to stop while the answer was under way
            self._release([job.lease for job in jobs])

    def _limit_s(self, job: Job) -> float | None:
        return min((limit for limit in (job.timeout_s, self._terms.timeout_s) if limit is not None), default=None)

    def _rest(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not (self._stops or self._asks_over) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))

    # evaluating

    def _work(self, slot: int) -> None:
        losses = 0
        while (held := self._queues[slot].get()) is not None:
            try:
                outcome = held.evaluate(self._evaluators[held.job.objective], slot)
            except Exception as error:  # noqa: BLE001  whatever it is, the slot must go on and the job not wait for it
                outcome = failed("infrastructure", f"the evaluation cannot be followed: {error!r}")
            self._report(held, outcome)
            lost = outcome.failure is not None and outcome.failure.kind == "infrastructure"
            losses = losses + 1 if lost else 0
            if lost:  # a node that can evaluate nothing must not use up the patience of every job
                self._rest(min(2.0 ** min(losses, 10), LONGEST_REST_S))
            with self._changed:
                del self._held[slot]
                self._changed.notify_all()
            self._heart.look()

    def _report(self, held: Held, outcome: Outcome) -> None:
        job = held.job
        about = {"job": job.job, "objective": job.objective, "sample": job.sample, "duration_s": outcome.duration_s}
        if outcome.value is None and held.reason in ("cancelled", "stopped"):
            self._log.info(held.why, **about)
            if held.reason == "cancelled":
                self._release([job.lease])
            return
        if outcome.failure is None:
            self._log.info("done", **about, value=outcome.value)
        else:
            last = outcome.failure.message.partition("\n--- printed")[0].strip().splitlines()[-1:]
            self._log.warning(f"{outcome.failure.kind}: {''.join(last)}", **about)
        kept = self._teller.submit(_tell(job, outcome))
        while kept.file is None and not kept.over.wait(0.2) and not self._ending.is_set():
            pass  # nothing would keep a second one either

    def _release(self, leases: list[str]) -> None:
        try:
            self._client.release(leases)
        except RequestFailed as error:
            self._log.warning(f"jobs could not be given back, and are free when their leases end: {error}")


def _tell(job: Job, outcome: Outcome) -> Tell:
    said: dict[str, Any] = {"job": job.job, "lease": job.lease, "duration_s": outcome.duration_s}
    try:
        return Tell(**said, value=outcome.value, also=outcome.also, failure=outcome.failure, metadata=outcome.metadata)
    except ValidationError as error:  # an evaluator's fault; the job must not wait for it
        return Tell(**said, failure=Failure(kind="error", message=f"the result cannot be told: {error}"))
