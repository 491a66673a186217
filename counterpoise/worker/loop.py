"""The parts of a worker together, from the first ask to the last tell."""

import threading
import time
from collections.abc import Mapping

from counterpoise.client import Client
from counterpoise.errors import RequestFailed
from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.evaluators.evaluator import Evaluator
from counterpoise.worker.jobs.asker import Asker
from counterpoise.worker.jobs.heartbeats import Heartbeats
from counterpoise.worker.jobs.release import release_jobs
from counterpoise.worker.jobs.slots import Slots
from counterpoise.worker.process_identity import ProcessIdentity
from counterpoise.worker.results.spool import Spool
from counterpoise.worker.results.teller import Teller
from counterpoise.worker.shutdown import POLL_S, Shutdown
from counterpoise.worker.worker_log import WorkerLog

RELEASE_S = 5.0  # how long to try; after that the leases expire
SLOTS_S = 35.0  # how long to wait for evaluations that were cancelled


class WorkerLoop:
    """`run` returns when the work is done or the worker was stopped; raises
    RequestFailed if the first ask fails.
    """

    def __init__(
        self,
        client: Client,
        evaluators: Mapping[str, Evaluator],
        spool: Spool,
        config: WorkerConfig,
        log: WorkerLog,
        identity: ProcessIdentity | None = None,
    ) -> None:
        self._identity = identity
        self._client = client
        self._config = config
        self._log = log
        self._shutdown = Shutdown()
        self._teller = Teller(client, spool, log)
        self._heartbeats = Heartbeats(client, lambda: self._slots.active_jobs(), log)
        self._slots = Slots(
            client,
            evaluators,
            config,
            self._teller,
            self._shutdown,
            log,
            self._heartbeats.wake,
        )
        self._asker = Asker(
            client,
            list(evaluators),
            config,
            self._slots,
            self._teller,
            self._shutdown,
            log,
            identity.instance if identity is not None else None,
        )

    def stop(self) -> None:
        """Once: finish what runs, within the grace period.

        Twice: end at once. Safe in a signal handler.
        """
        self._shutdown.request()

    def run(self) -> None:
        self._give_up_old_leases()
        for part in (self._teller, self._heartbeats, self._slots, self._asker):
            part.start()
        self._wait_until_done()
        self._release_active_jobs()
        self._slots.close(SLOTS_S)
        self._heartbeats.stop()
        self._tell_last_results()
        self._say_goodbye()
        if self._asker.failure is not None:
            raise self._asker.failure

    def _give_up_old_leases(self) -> None:
        """Those of the process that had this name before and did not say goodbye."""
        if self._identity is None:
            return
        if self._identity.is_shared:
            message = "another process on this machine uses the same name"
            self._log.warning(message, worker=self._config.name)
        if self._identity.previous is not None:
            released = self._end_process(self._identity.previous)
            if released:
                message = "gave up the jobs of the previous process"
                self._log.info(message, jobs=len(released))

    def _say_goodbye(self) -> None:
        if self._identity is not None and self._asker.failure is None:
            self._end_process(self._identity.instance)

    def _end_process(self, instance: str) -> list[str]:
        """Without a server there is nothing to end: its leases expire."""
        try:
            return self._client.goodbye(self._config.name, instance)
        except RequestFailed:
            return []

    def _wait_until_done(self) -> None:
        """Return when nothing is left to do, or the grace period is over."""
        deadline: float | None = None
        while self._shutdown.requests < 2:
            is_stopping = self._shutdown.requests > 0
            if is_stopping and deadline is None:
                jobs = len(self._slots.active_jobs())
                self._log.info(
                    "finishing running jobs", jobs=jobs, grace_s=self._config.grace_s
                )
                deadline = time.monotonic() + self._config.grace_s
            with self._slots.changed:
                is_idle = self._slots.free == self._config.slots
                if is_idle and (is_stopping or self._shutdown.asks_are_over):
                    return
                if deadline is not None and time.monotonic() >= deadline:
                    return
                self._slots.changed.wait(POLL_S)

    def _release_active_jobs(self) -> None:
        leases = self._slots.end_active_jobs()
        if not leases:
            return
        self._log.info("releasing jobs", jobs=len(leases))
        release = threading.Thread(
            target=release_jobs, args=(self._client, leases, self._log), daemon=True
        )
        release.start()
        release.join(RELEASE_S)

    def _tell_last_results(self) -> None:
        untold = self._teller.flush(
            RELEASE_S if self._shutdown.requests else self._config.grace_s
        )
        saved = [result for result in untold if result.file is not None]
        if saved:
            message = (
                "results are not told yet; they stay in the spool for the next worker"
            )
            self._log.warning(message, results=len(saved))
        self._teller.stop()
