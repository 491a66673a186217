"""Tells results from one thread, in lists, until the server has taken or refused each of them."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from counterpoise.client import Client
from counterpoise.connection import pause_s
from counterpoise.errors import Refused, RequestFailed, ServerAway
from counterpoise.wire.work import MOST_TELLS, Tell, Told
from counterpoise.worker.log import Log
from counterpoise.worker.spool import Spool

ADOPT_EVERY_S = 30.0
NEVER = (413, 422)  # the server will not take it, however often it is told; a proxy, or another route, may say others


@dataclass(eq=False, slots=True)
class Kept:
    """A result on its way; without a file where the disk could not keep it."""

    said: Tell
    file: Path | None
    over: threading.Event = field(default_factory=threading.Event)


class Teller:
    def __init__(self, client: Client, spool: Spool, log: Log) -> None:
        self._client = client
        self._spool = spool
        self._log = log
        self._kept: list[Kept] = []
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, said: Tell) -> Kept:
        """On disk when this returns, if it can be; told as soon as possible."""
        file = None
        try:
            file = self._spool.keep(said)
        except OSError as error:
            way_out = "it is told directly, and the slot waits for that; make room there, or choose another --spool"
            self._log.warning(f"cannot keep a result in {self._spool.root}: {error}; {way_out}", job=said.job)
        kept = Kept(said, file)
        with self._changed:
            self._kept.append(kept)
            self._changed.notify_all()
        return kept

    @property
    def waiting(self) -> int:
        """Results that are not told yet."""
        return len(self._kept)

    def flush(self, timeout_s: float) -> int:
        """Wait until all is told, but not for ever; answers how many results are left."""
        with self._changed:
            self._changed.wait_for(lambda: not self._kept, timeout_s)
            return len(self._kept)

    def stop(self) -> None:
        """What is not on disk goes into the log, as a last resort."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
            for kept in self._kept:
                if kept.file is None:
                    told = kept.said.model_dump(mode="json", exclude_none=True)
                    self._log.warning("a result is neither told nor on disk", tell=told)

    def _run(self) -> None:
        tried = 0
        adopted_at: float | None = None
        while not self._stopped.is_set():
            if adopted_at is None or time.monotonic() - adopted_at >= ADOPT_EVERY_S:
                adopted_at = time.monotonic()
                self._adopt()
            with self._changed:
                self._changed.wait_for(lambda: self._kept or self._stopped.is_set(), ADOPT_EVERY_S)
                batch = self._kept[:MOST_TELLS]
            if not batch or self._stopped.is_set():
                continue
            try:
                self._tell(batch)
                if tried:
                    self._log.info("the server takes results again")
                tried = 0
            except Exception as error:  # noqa: BLE001  whatever it is, the results must be told in the end
                if tried == 0:
                    self._log.warning(f"results wait to be told: {error}", results=len(self._kept))
                self._stopped.wait(pause_s(tried))
                tried += 1

    def _adopt(self) -> None:
        found = [Kept(said, file) for file, said in self._spool.adopt()]
        if found:
            self._log.info("results of an earlier worker are told now", results=len(found))
            with self._changed:
                self._kept += found
                self._changed.notify_all()

    def _tell(self, batch: Sequence[Kept]) -> None:
        try:
            told = self._client.tell([kept.said for kept in batch])
        except RequestFailed as error:
            if len(batch) == 1 and error.status in NEVER and isinstance(error, Refused):
                told = [Told(job=batch[0].said.job, status=error.status, detail=error.detail)]
            elif len(batch) == 1 or isinstance(error, ServerAway) or error.status in (None, 401, 403):
                raise
            else:  # one of them is more than the server can bear; the others need not wait for it
                self._tell_singly(batch)
                return
        for kept, answer in zip(batch, told, strict=True):
            self._settle(kept, answer)

    def _tell_singly(self, batch: Sequence[Kept]) -> None:
        failure: RequestFailed | None = None
        for kept in batch:
            try:
                self._tell([kept])
            except RequestFailed as error:
                failure = error
        if failure is not None:
            raise failure

    def _settle(self, kept: Kept, answer: Told) -> None:
        try:
            if answer.status == 200:
                if kept.file is not None:
                    self._spool.forget(kept.file)
            else:
                where = self._spool.refuse(kept.file, kept.said, answer.status, answer.detail)
                self._log.warning(f"the server refused a result: {answer.detail}", job=answer.job, kept=str(where))
        except OSError as error:  # at worst it is told again
            self._log.warning(f"{self._spool.root} cannot be changed: {error}", job=answer.job)
        with self._changed:
            self._kept.remove(kept)
            self._changed.notify_all()
        kept.over.set()
