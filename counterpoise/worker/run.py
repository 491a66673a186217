"""A worker from its first ask to its last tell, with signals: once to finish, twice to end at once."""

import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from counterpoise.client import Client
from counterpoise.worker.evaluators.evaluator import Evaluator
from counterpoise.worker.log import Log
from counterpoise.worker.loop import Loop, Terms
from counterpoise.worker.spool import Spool, default_spool


def default_name() -> str:
    """The same for the whole life of a process, and nobody else's, even where containers all have process 1."""
    return f"{socket.gethostname()[:150]}-{os.getpid()}-{secrets.token_hex(2)}"


def work(client: Client, evaluators: Mapping[str, Evaluator], terms: Terms, spool: Path | None, log: Log) -> None:
    """Returns when the worker has ended in good order; the evaluators are closed, whatever happens."""
    kept = Spool(spool or default_spool(client.url))
    loop = Loop(client, evaluators, kept, terms, log)
    log.info(
        "working",
        worker=terms.name,
        url=client.url,
        studies=",".join(terms.studies),
        objectives=",".join(evaluators),
        slots=terms.slots,
        spool=str(kept.root),
    )
    try:
        with _stopped_by_signals(loop):
            loop.run()
    finally:
        for evaluator in {id(each): each for each in evaluators.values()}.values():
            evaluator.close()
        kept.close()
    log.info("ended")


@contextmanager
def _stopped_by_signals(loop: Loop) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: loop.stop()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
