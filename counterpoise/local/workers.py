"""Workers in threads of this process.

Simulations run in processes of their own, so that a crash does not reach this one.
"""

import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from counterpoise.client import Client
from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.evaluators.evaluator import CheckedEvaluator
from counterpoise.worker.loop import WorkerLoop
from counterpoise.worker.process_identity import ProcessIdentity
from counterpoise.worker.results.spool import Spool, default_spool
from counterpoise.worker.run_worker import default_name
from counterpoise.worker.worker_log import WorkerLog

END_S = 40.0  # how long to wait for the last results


@dataclass(frozen=True, slots=True)
class Place:
    """Where workers find the server and keep results that are not told yet."""

    url: str
    token: str | None = None
    spool: Path | None = None  # None: one per user and server


class LocalWorker:
    """The worker of one objective."""

    def __init__(
        self,
        place: Place,
        study: str,
        objective: str,
        evaluator: CheckedEvaluator,
        slots: int,
        log: WorkerLog,
    ) -> None:
        self.failure: Exception | None = None
        self._client = Client(place.url, place.token, retry_s=0)
        self._evaluator = evaluator
        self._spool = Spool(place.spool or default_spool(place.url))
        config = WorkerConfig(
            name=_name(place, objective),
            studies=(study,),
            slots=slots,
            until_finished=True,
            grace_s=0.0,
        )
        self._identity = ProcessIdentity(self._spool.root, config.name)
        self._loop = WorkerLoop(
            self._client,
            {objective: evaluator},
            self._spool,
            config,
            log,
            self._identity,
        )
        self._thread = threading.Thread(
            target=self._run, name=f"worker of {objective}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Give running jobs back."""
        self._loop.stop()

    def close(self) -> None:
        if self._thread.ident is not None:
            self._thread.join(END_S)
        self._evaluator.close()
        self._identity.close()
        self._spool.close()
        self._client.close()

    def _run(self) -> None:
        try:
            self._loop.run()
        except Exception as error:  # noqa: BLE001  any error: the main thread raises it
            self.failure = error


def _name(place: Place, objective: str) -> str:
    """The same after a restart where the server is the study's own."""
    if place.spool is None:
        return f"{default_name()}-{objective}"
    return f"{socket.gethostname()[:90]}-{objective}"


class LocalWorkers:
    """All workers of a study; they end with the block."""

    def __init__(
        self,
        place: Place,
        study: str,
        evaluators: Mapping[str, CheckedEvaluator],
        slots: Mapping[str, int],
        log: WorkerLog,
    ) -> None:
        self._workers: Sequence[LocalWorker] = [
            LocalWorker(place, study, name, evaluator, slots[name], log)
            for name, evaluator in evaluators.items()
        ]

    def __enter__(self) -> "LocalWorkers":
        for worker in self._workers:
            worker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.close()

    def check(self) -> None:
        """Raises the error of a worker that has failed."""
        for worker in self._workers:
            if worker.failure is not None:
                raise worker.failure
