"""How signals end the commands that run a whole study."""

import signal
import sys


def end_on_signals() -> None:
    """SIGINT, SIGTERM and SIGHUP end this process by an exception, so that what it has
    started ends first.

    SIGINT also ends a background job of a shell script, which starts with SIGINT
    ignored: `serve`, `planner` and `worker` end on it, too. SIGHUP stays ignored where it
    is, as under `nohup`.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _exit)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _exit)


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)
