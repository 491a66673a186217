"""Runs a worker in this process until its work is done or signals stop it."""

import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from counterpoise.client import Client
from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.evaluators.evaluator import Evaluator
from counterpoise.worker.loop import WorkerLoop
from counterpoise.worker.process_identity import ProcessIdentity
from counterpoise.worker.results.spool import Spool, default_spool
from counterpoise.worker.worker_log import WorkerLog


def default_name() -> str:
    """Unique, also where every container has process 1."""
    return f"{socket.gethostname()[:150]}-{os.getpid()}-{secrets.token_hex(2)}"


def run_worker(
    client: Client,
    evaluators: Mapping[str, Evaluator],
    config: WorkerConfig,
    spool_folder: Path | None,
    log: WorkerLog,
) -> None:
    """Returns when the worker has ended in good order.

    The evaluators are closed in any case.
    """
    spool = Spool(spool_folder or default_spool(client.url))
    identity = ProcessIdentity(spool.root, config.name)
    loop = WorkerLoop(client, evaluators, spool, config, log, identity)
    log.info(
        "working",
        worker=config.name,
        url=client.url,
        studies=",".join(config.studies),
        objectives=",".join(evaluators),
        slots=config.slots,
        spool=str(spool.root),
    )
    try:
        with _stopped_by_signals(loop):
            loop.run()
    finally:
        _close_all(evaluators)
        identity.close()
        spool.close()
    log.info("ended")


def _close_all(evaluators: Mapping[str, Evaluator]) -> None:
    """Objectives may share an evaluator, which is closed once."""
    different = {id(evaluator): evaluator for evaluator in evaluators.values()}
    for evaluator in different.values():
        evaluator.close()


@contextmanager
def _stopped_by_signals(loop: WorkerLoop) -> Iterator[None]:
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only the main thread may set signal handlers
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {
        number: signal.signal(number, lambda *_: loop.stop()) for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
