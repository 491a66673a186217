"""Asks for jobs while slots are free, from one thread."""

import threading
import time
from collections.abc import Sequence

from counterpoise.client import Client
from counterpoise.client.retries import pause_s
from counterpoise.errors import RequestFailed, ServerUnavailable
from counterpoise.wire.codes import EmptyReason
from counterpoise.wire.work import Ask, Asked, Job
from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.jobs.release import release_jobs
from counterpoise.worker.jobs.slots import Slots
from counterpoise.worker.results.teller import Teller
from counterpoise.worker.shutdown import Shutdown
from counterpoise.worker.worker_log import WorkerLog

MOST_JOBS = 256  # of one ask
MOST_UNTOLD = 16  # results that are not told yet, beside one per slot
LAST_REASONS = (EmptyReason.FINISHED, EmptyReason.DRAINED)


class Asker:
    def __init__(
        self,
        client: Client,
        objectives: Sequence[str],
        config: WorkerConfig,
        slots: Slots,
        teller: Teller,
        shutdown: Shutdown,
        log: WorkerLog,
        instance: str | None = None,
    ) -> None:
        # Why it ended, if not because the work is done
        self.failure: Exception | None = None
        self._instance = instance
        self._client = client
        self._objectives = list(objectives)
        self._config = config
        self._slots = slots
        self._teller = teller
        self._shutdown = shutdown
        self._log = log
        self._jobs_taken = 0
        self._thread = threading.Thread(target=self._run, name="asker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self._ask_until_done()
        except Exception as error:  # noqa: BLE001  any error: the worker raises it when running jobs are finished
            self.failure = error
        with self._slots.changed:
            self._shutdown.asks_are_over = True
            self._slots.changed.notify_all()

    def _ask_until_done(self) -> None:
        failures = 0
        has_succeeded = False
        last_reason: EmptyReason | None = None
        while (wanted := self._wait_for_free_slots()) > 0:
            try:
                asked = self._ask(wanted)
            except RequestFailed as error:
                if not (has_succeeded or isinstance(error, ServerUnavailable)):
                    # wrong from the beginning; later it may be a token that is being
                    # replaced
                    raise
                if failures == 0:
                    self._log.warning(f"asking for jobs failed: {error}")
                self._shutdown.sleep(pause_s(failures))
                failures += 1
                continue
            if failures:
                self._log.info("asking for jobs succeeds again")
            failures, has_succeeded = 0, True
            self._take(asked.jobs)
            if asked.reason is EmptyReason.FINISHED and self._config.until_finished:
                return
            if asked.reason is EmptyReason.DRAINED:
                self._log.info(f"no more jobs: {asked.detail}")
                return
            if asked.reason is not None and asked.reason is not last_reason:
                self._log.info(f"no jobs: {asked.detail}", reason=asked.reason)
            last_reason = asked.reason

    def _ask(self, wanted: int) -> Asked:
        began = time.monotonic()
        ask = Ask(
            worker=self._config.name,
            studies=list(self._config.studies),
            objectives=self._objectives,
            instance=self._instance,
            max_jobs=wanted,
            wait_s=self._config.ask_wait_s,
        )
        asked = self._client.ask(ask)
        # For example a server that is about to stop
        did_not_wait = time.monotonic() - began < 1.0
        if not asked.jobs and asked.reason not in LAST_REASONS and did_not_wait:
            self._shutdown.sleep(asked.retry_after_s or 1.0)
        return asked

    def _wait_for_free_slots(self) -> int:
        """How many jobs to ask for; 0 when no more are wanted."""
        with self._slots.changed:
            while not self._shutdown.requests:
                limit = self._config.max_jobs
                left = MOST_JOBS if limit is None else limit - self._jobs_taken
                if left <= 0:
                    return 0
                # A worker that takes jobs faster than the server takes results would
                # lose their leases.
                has_backlog = self._teller.pending >= MOST_UNTOLD + self._config.slots
                if self._slots.free and not has_backlog:
                    return min(self._slots.free, left, MOST_JOBS)
                self._slots.changed.wait(0.05 if has_backlog else None)
            return 0

    def _take(self, jobs: Sequence[Job]) -> None:
        with self._slots.changed:
            is_stopping = self._shutdown.requests > 0
            if not is_stopping:
                self._slots.assign(jobs)
                self._jobs_taken += len(jobs)
        if jobs and is_stopping:  # the worker was stopped during the request
            release_jobs(self._client, [job.lease for job in jobs], self._log)
