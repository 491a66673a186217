"""Heartbeats for all active jobs of a worker, from one thread.

Jobs that the server cancels are ended.
"""

import threading
import time
from collections.abc import Callable, Sequence

from counterpoise.client import Client
from counterpoise.client.retries import pause_s
from counterpoise.wire.codes import CancelReason
from counterpoise.wire.work import Alive
from counterpoise.worker.jobs.active_job import ActiveJob, EndReason
from counterpoise.worker.worker_log import WorkerLog

SHORTEST_RESPONSE_S = 5.0


class Heartbeats:
    def __init__(
        self,
        client: Client,
        active_jobs: Callable[[], Sequence[ActiveJob]],
        log: WorkerLog,
    ) -> None:
        self._client = client
        self._active_jobs = active_jobs
        self._log = log
        self._failures = 0  # in a row
        self._last_at = time.monotonic()
        self._stopped = False
        self._changed = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="heartbeats", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped = True
        self._changed.set()

    def wake(self) -> None:
        """Call this when the active jobs have changed."""
        self._changed.set()

    def _run(self) -> None:
        while not self._stopped:
            jobs = self._active_jobs()
            if not jobs:
                self._changed.wait()
                self._last_at, self._failures = time.monotonic(), 0
            else:
                interval_s = min(active.job.heartbeat_s for active in jobs)
                if not self._changed.wait(self._until_next_s(interval_s)):
                    self._beat(jobs, interval_s)
            self._changed.clear()

    def _until_next_s(self, interval_s: float) -> float:
        pause = (
            min(pause_s(self._failures - 1), interval_s)
            if self._failures
            else interval_s
        )
        return max(0.0, self._last_at + pause - time.monotonic())

    def _beat(self, jobs: Sequence[ActiveJob], interval_s: float) -> None:
        """A request that is lost must leave time for another one before the leases
        expire.
        """
        leases = [active.job.lease for active in jobs]
        timeout_s = max(interval_s, SHORTEST_RESPONSE_S)
        try:
            responses = self._client.heartbeat(leases, timeout_s=timeout_s)
        except Exception as error:  # noqa: BLE001  any error: heartbeats must go on
            if self._failures == 0:
                self._log.warning(f"heartbeat failed: {error}", jobs=len(jobs))
            self._failures += 1
        else:
            self._failures = 0
            _end_cancelled(jobs, responses)
        self._last_at = time.monotonic()


def _end_cancelled(jobs: Sequence[ActiveJob], responses: Sequence[Alive]) -> None:
    by_lease = {active.job.lease: active for active in jobs}
    for response in responses:
        active = by_lease.get(response.lease)
        if active is not None and response.cancel:
            reason = (
                EndReason.TIMEOUT
                if response.reason == CancelReason.TIMEOUT
                else EndReason.CANCELLED
            )
            active.end(
                reason, f"{reason}: {response.detail or 'the server requested it'}"
            )
