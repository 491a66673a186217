"""Tells results from one thread, in lists, until the server has accepted or refused
each of them.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from counterpoise.client import Client
from counterpoise.client.retries import pause_s
from counterpoise.errors import Refused, RequestFailed, ServerUnavailable
from counterpoise.wire.work import MOST_TELLS, Tell, Told
from counterpoise.worker.results.spool import Spool
from counterpoise.worker.worker_log import WorkerLog

ADOPT_EVERY_S = 30.0
# Repeating such a tell is useless; other statuses may come from a proxy
NEVER_ACCEPTED = (
    413,
    422,
)


@dataclass(eq=False, slots=True)
class PendingResult:
    """A result that is not told yet. `file` is None if the spool could not save it."""

    tell: Tell
    file: Path | None
    is_settled: threading.Event = field(default_factory=threading.Event)


class Teller:
    def __init__(self, client: Client, spool: Spool, log: WorkerLog) -> None:
        self._client = client
        self._spool = spool
        self._log = log
        self._pending: list[PendingResult] = []
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._failures = 0  # in a row
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, tell: Tell) -> PendingResult:
        """Save a result to the spool, if possible, and tell it as soon as possible."""
        file = None
        try:
            file = self._spool.save(tell)
        except OSError as error:
            hint = "the slot waits until it is told; free some space there, or choose another --spool"
            self._log.warning(
                f"cannot save a result in {self._spool.root}: {error}; {hint}",
                job=tell.job,
            )
        result = PendingResult(tell, file)
        with self._changed:
            self._pending.append(result)
            self._changed.notify_all()
        return result

    @property
    def pending(self) -> int:
        """How many results are not told yet."""
        return len(self._pending)

    def flush(self, timeout_s: float) -> list[PendingResult]:
        """Wait until everything is told, but not longer than this; returns the results
        that are not.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._pending, timeout_s)
            return list(self._pending)

    def stop(self) -> None:
        """Results that are not on disk are written to the log, as a last resort."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
            unsaved = [result for result in self._pending if result.file is None]
        for result in unsaved:
            tell = result.tell.model_dump(mode="json", exclude_none=True)
            self._log.warning("a result is neither told nor on disk", tell=tell)

    def _run(self) -> None:
        adopted_at: float | None = None
        while not self._stopped.is_set():
            if adopted_at is None or time.monotonic() - adopted_at >= ADOPT_EVERY_S:
                adopted_at = time.monotonic()
                self._adopt()
            with self._changed:
                self._changed.wait_for(
                    lambda: self._pending or self._stopped.is_set(), ADOPT_EVERY_S
                )
                batch = self._pending[:MOST_TELLS]
            if batch and not self._stopped.is_set():
                self._try_to_tell(batch)

    def _adopt(self) -> None:
        adopted = [PendingResult(tell, file) for file, tell in self._spool.adopt()]
        if adopted:
            self._log.info("adopted results of an earlier worker", results=len(adopted))
            with self._changed:
                self._pending += adopted
                self._changed.notify_all()

    def _try_to_tell(self, batch: Sequence[PendingResult]) -> None:
        try:
            self._tell(batch)
        except Exception as error:  # noqa: BLE001  any error: the results must be told in the end
            if self._failures == 0:
                self._log.warning(
                    f"telling results failed: {error}", results=self.pending
                )
            self._stopped.wait(pause_s(self._failures))
            self._failures += 1
        else:
            if self._failures:
                self._log.info("telling results succeeds again")
            self._failures = 0

    def _tell(self, batch: Sequence[PendingResult]) -> None:
        try:
            responses = self._client.tell([result.tell for result in batch])
        except RequestFailed as error:
            if len(batch) == 1:
                responses = [_refusal(batch[0].tell, error)]
            elif isinstance(error, ServerUnavailable) or error.status in (
                None,
                401,
                403,
            ):
                raise
            else:  # the server cannot process one of them; the others need not wait for it
                self._tell_one_by_one(batch)
                return
        for result, response in zip(batch, responses, strict=True):
            self._settle(result, response)

    def _tell_one_by_one(self, batch: Sequence[PendingResult]) -> None:
        failure: RequestFailed | None = None
        for result in batch:
            try:
                self._tell([result])
            except RequestFailed as error:
                failure = error
        if failure is not None:
            raise failure

    def _settle(self, result: PendingResult, response: Told) -> None:
        try:
            if response.status != 200:
                file = self._spool.set_aside(
                    result.file, result.tell, response.status, response.detail
                )
                self._log.warning(
                    f"the server refused a result: {response.detail}",
                    job=response.job,
                    kept=str(file),
                )
            elif result.file is not None:
                self._spool.remove(result.file)
        except OSError as error:  # at worst it is told again
            self._log.warning(
                f"{self._spool.root} cannot be changed: {error}", job=response.job
            )
        with self._changed:
            self._pending.remove(result)
            self._changed.notify_all()
        result.is_settled.set()


def _refusal(tell: Tell, error: RequestFailed) -> Told:
    """The response to a single tell that is never accepted; raises the error if a
    repetition may help.
    """
    if isinstance(error, Refused) and error.status in NEVER_ACCEPTED:
        return Told(job=tell.job, status=error.status, detail=error.detail)
    raise error
