"""Fault points: named places in the code at which a test can kill this process or make
it wait.

COUNTERPOISE_FAULTS enables them. It names a folder that must exist when the process
starts. A file `NAME.kill` in it kills the next process that reaches the point NAME; a
file `NAME.hold` makes processes wait there until it is removed.
"""

import os
import signal
import time
from pathlib import Path

_FOLDER = os.environ.get("COUNTERPOISE_FAULTS")
_POLL_S = 0.005


def _trigger(name: str) -> None:
    folder = Path(_FOLDER or "")
    try:
        # Atomic: kills one process only
        (folder / f"{name}.kill").rename(folder / f"{name}.killed")
    except FileNotFoundError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGKILL)
    while (folder / f"{name}.hold").exists():
        (folder / f"{name}.held").touch()
        time.sleep(_POLL_S)


def _ignore(name: str) -> None:
    pass


point = _trigger if _FOLDER and Path(_FOLDER).is_dir() else _ignore
