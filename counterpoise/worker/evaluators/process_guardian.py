"""A small process that ends the worker's children should the worker die without a word, kill -9 included."""

import contextlib
import os
import signal
import subprocess
import sys
import threading

# Lines "+GROUP" and "-GROUP"; the end of input is the worker's end.
CODE = """
import os, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, 9)
    except OSError:
        pass
"""


class Guardian:
    """Watches process groups, so that what a simulation has started ends with it. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", "-c", CODE], stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def watch(self, group: int) -> None:
        self._say(f"+{group}\n")

    def forget(self, group: int) -> None:
        self._say(f"-{group}\n")

    def close(self) -> None:
        """Ends what is still watched."""
        with self._lock, contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait()

    def _say(self, line: str) -> None:
        with self._lock, contextlib.suppress(OSError, ValueError):  # it can only be gone if somebody ended it
            self._process.stdin.write(line)  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]


def end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
        os.killpg(group, signal.SIGKILL)
