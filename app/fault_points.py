"""Fault points: named moments at which a test may kill this process or hold it. Otherwise they are nothing.

They are switched on by COUNTERPOISE_FAULTS, a folder that must exist when the process starts. A file `NAME.kill` in it
kills the next process that comes to the point NAME; a file `NAME.hold` holds it there until the file is gone.
"""

import os
import signal
import time
from pathlib import Path

_FOLDER = os.environ.get("COUNTERPOISE_FAULTS")


def _act(name: str) -> None:
    folder = Path(_FOLDER or "")
    try:
        (folder / f"{name}.kill").rename(folder / f"{name}.killed")  # one process, however many come here
    except FileNotFoundError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGKILL)
    while (folder / f"{name}.hold").exists():
        (folder / f"{name}.held").touch()
        time.sleep(0.005)


def _pass(name: str) -> None:
    pass


point = _act if _FOLDER and Path(_FOLDER).is_dir() else _pass
