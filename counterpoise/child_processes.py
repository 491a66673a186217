"""Child processes that end when their parent does, however that ends: by an exit, an
exception or kill -9.

`end_with_parent`: for our own Python processes; the child calls it. `Guardian`: for any
programs; a small process that ends process groups when its parent is gone. `supervise`:
for a command with all that it starts, daemons included; a process between the parent
and the command.

Standard library only: the supervisor executes this file in an interpreter without
installed packages.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_INTERPRETER = (sys.executable, "-I", "-S")
POLL_S = 0.02


def end_with_parent(
    stop: Callable[[], object] | None = None, grace_s: float = 0.0
) -> None:
    """End this process when its parent has ended, or has closed the pipe that is this
    process's standard input.

    A child of `multiprocessing` watches its parent, any other child must have such a
    pipe. `stop` is called first, and the process has `grace_s` to end by itself.
    """
    threading.Thread(
        target=_end_with_parent,
        args=(stop, grace_s),
        name="end with parent",
        daemon=True,
    ).start()


def _end_with_parent(stop: Callable[[], object] | None, grace_s: float) -> None:
    # Here: a supervisor starts faster without it
    from multiprocessing import (
        parent_process,
    )

    parent = parent_process()
    if parent is not None:
        parent.join()
    else:
        while os.read(0, 4096):
            pass
    if stop is not None:
        stop()
        time.sleep(grace_s)
    os._exit(0)


# Each line of input is "+GROUP" or "-GROUP"; the end of input is the end of the parent.
# A text: to import this module would double the time that the guardian needs to start.
_GUARDIAN = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
grace_s = float(sys.argv[1])
watched = set()
for line in sys.stdin:
    (watched.add if line[0] == "+" else watched.discard)(int(line[1:]))

def send(number):
    for group in (*watched, os.getpgrp()):
        try:
            os.killpg(group, number)
        except OSError:
            pass

if grace_s > 0:
    send(signal.SIGTERM)
    time.sleep(grace_s)
send(signal.SIGKILL)
"""


class Guardian:
    """Ends its own process group and all watched ones when this process ends.

    Threads may share it.

    A program that is started with `process_group=guardian.group` is guarded from its
    first moment. With a grace period the groups get SIGTERM first, and SIGKILL after
    the period. Ctrl-C in a terminal does not reach these groups.
    """

    def __init__(self, grace_s: float = 0.0) -> None:
        self._lock = threading.Lock()
        self._watched: set[int] = set()
        command = [*_INTERPRETER, "-c", _GUARDIAN, str(grace_s)]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, text=True, process_group=0
        )
        self.group = self._process.pid

    def watch(self, group: int) -> None:
        with self._lock:
            self._watched.add(group)
            self._send(f"+{group}\n")

    def forget(self, group: int) -> None:
        with self._lock:
            self._watched.discard(group)
            self._send(f"-{group}\n")

    def end_gently(self) -> None:
        """Send SIGTERM to the groups now, and SIGKILL after the grace period."""
        with self._lock, suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]

    def close(self) -> None:
        """End what is left of the groups, and the guardian."""
        self.end_gently()
        for group in (*self._watched, self.group):
            kill_group(group)
        self._process.wait()

    def _send(self, line: str) -> None:
        with suppress(OSError, ValueError):  # the guardian was killed or closed
            self._process.stdin.write(line)  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]


def kill_group(group: int) -> None:
    _signal_group(group, signal.SIGKILL)


def _signal_group(group: int, number: int) -> bool:
    """Whether the group exists."""
    try:
        os.killpg(group, number)
    except (
        ProcessLookupError,
        PermissionError,
    ):  # the second is what macOS raises for a group of zombies
        return False
    return True


# The supervisor of a command. It reads from standard input: END, or the end of the
# pipe, ends the command with SIGTERM, then SIGKILL; KILL ends it at once. When
# everything has ended it writes one line of JSON to standard output.
END, KILL = b"t", b"k"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def supervise(
    command: Sequence[str],
    *,
    stdout: Path,
    stderr: Path,
    grace_s: float,
    cwd: Path,
    env: Mapping[str, str],
) -> "subprocess.Popen[bytes]":
    """Start a command under a supervisor of its own, and return the supervisor."""
    return subprocess.Popen(  # noqa: S603
        [*_INTERPRETER, __file__, str(grace_s), str(stdout), str(stderr), *command],
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C in a terminal is for the parent
        bufsize=0,
    )


def _supervisor() -> None:
    grace_s, stdout, stderr, *command = sys.argv[1:]
    # Orphans of the command become children of this process
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signals = _pipe_of_signals()
    began = time.monotonic()
    try:
        process = _start(command, stdout, stderr)
    except OSError as error:
        _report({"cannot_start": f"{command[0]}: {error.strerror}"})
        return
    request = _wait(process, signals)
    duration_s = time.monotonic() - began
    if request is not None:
        _end_gently(process, 0.0 if request == KILL else float(grace_s))
    kill_group(process.pid)
    code = process.wait()
    _kill_orphans()
    _report({"code": code, "duration_s": duration_s, "ended": request is not None})


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _pipe_of_signals() -> int:
    """A pipe that becomes readable when a signal arrives."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    # A batch system sends SIGTERM to all processes; the parent decides. Handlers,
    # unlike SIG_IGN, are not inherited.
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return readable


def _start(command: list[str], stdout: str, stderr: str) -> "subprocess.Popen[bytes]":
    with Path(stdout).open("wb") as out, Path(stderr).open("wb") as err:
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=lambda: _prctl(
                _PR_SET_PDEATHSIG, signal.SIGKILL
            ),  # safe: a supervisor has no threads
        )


def _wait(process: "subprocess.Popen[bytes]", signals: int) -> bytes | None:
    """None if the command has ended by itself, or how to end it."""
    while process.poll() is None:
        ready, _, _ = select.select([0, signals], [], [])
        if signals not in ready:
            return os.read(0, 1) or END
        os.read(signals, 4096)
    return None


def _end_gently(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    os.set_blocking(0, False)
    deadline = time.monotonic() + grace_s
    if grace_s > 0:
        _signal_group(process.pid, signal.SIGTERM)
    while time.monotonic() < deadline and _group_lives(process):
        with suppress(BlockingIOError):
            if KILL in os.read(0, 16):
                return
        time.sleep(POLL_S)


def _group_lives(process: "subprocess.Popen[bytes]") -> bool:
    process.poll()
    with suppress(ChildProcessError):
        while os.waitpid(-process.pid, os.WNOHANG)[0]:
            # adopted members of the group count as alive until they are waited for
            pass
    return _signal_group(process.pid, 0)


def _kill_orphans() -> None:
    """Kill what left the group, such as daemons (on Linux).

    A killed process hands its own children to this one.
    """
    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    while children := listing.read_text().split() if listing.exists() else []:
        for pid in map(int, children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _report(facts: dict[str, object]) -> None:
    with suppress(BrokenPipeError):  # the parent has ended
        os.write(1, json.dumps(facts).encode() + b"\n")


if __name__ == "__main__":
    _supervisor()
