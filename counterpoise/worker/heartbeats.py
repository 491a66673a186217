"""Signs of life for all leases of a worker, from one thread; what the server wants cancelled is ended."""

import threading
import time
from collections.abc import Callable, Sequence

from counterpoise.client import Client
from counterpoise.connection import pause_s
from counterpoise.wire.codes import CancelReason
from counterpoise.worker.active_job import EndReason, Held
from counterpoise.worker.log import Log

LEAST_S = 5.0  # for an answer


class Heart:
    def __init__(self, client: Client, held: Callable[[], Sequence[Held]], log: Log) -> None:
        self._client = client
        self._held = held
        self._log = log
        self._stopped = False
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped = True
        self._changed.set()

    def look(self) -> None:
        """The worker holds other jobs than before."""
        self._changed.set()

    def _run(self) -> None:
        beat_at, tried, pause = time.monotonic(), 0, 0.0
        while not self._stopped:
            held = self._held()
            every = min((each.job.heartbeat_s for each in held), default=None)
            if every is None:
                self._changed.wait()
                beat_at, tried = time.monotonic(), 0
            elif not self._changed.wait(max(0.0, beat_at + (min(pause, every) if tried else every) - time.monotonic())):
                tried = self._beat(held, tried, max(every, LEAST_S))
                pause = pause_s(tried)
                beat_at = time.monotonic()
            self._changed.clear()

    def _beat(self, held: Sequence[Held], tried: int, answer_s: float) -> int:
        """Answers how often it failed in a row. One that is lost on its way leaves time for another in the lease."""
        by_lease = {each.job.lease: each for each in held}
        try:
            answers = self._client.heartbeat(list(by_lease), answer_s=answer_s)
        except Exception as error:  # noqa: BLE001  whatever it is, the next one must come
            if tried == 0:
                self._log.warning(f"no sign of life could be given: {error}", jobs=len(held))
            return tried + 1
        for alive in answers:
            mine = by_lease.get(alive.lease)
            if mine is not None and alive.cancel:
                reason: EndReason = "timeout" if alive.reason == CancelReason.TIMEOUT else "cancelled"
                mine.end(reason, f"{reason}: {alive.detail or 'the server asked for it'}")
        return 0
