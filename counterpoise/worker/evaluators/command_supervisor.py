"""Stands between a worker and a command, and ends it, with all it started, when the worker says so or is gone.

A process of its own, so that it outlives a worker that is killed; needs the standard library only. Its standard input
is the worker's hand on it: `t` or the end of the pipe means end gently, `k` at once. Its standard output says, when all
is over, in one line of JSON how it went.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

AT_ONCE, GENTLY = b"k", b"t"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LOOK_S = 0.02


def main() -> None:
    grace_s, stdout, stderr, *command = sys.argv[1:]
    _prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a command leaves behind becomes our child
    woken = _pipe_of_signals()
    began = time.monotonic()
    try:
        process = _start(command, stdout, stderr)
    except OSError as error:
        _report({"cannot_start": f"{command[0]}: {error.strerror}"})
        return
    word = _wait(process, woken)
    duration_s = time.monotonic() - began
    if word is not None:
        _end_gently(process, 0.0 if word == AT_ONCE else float(grace_s))
    _kill(process.pid)
    code = process.wait()
    _kill_those_who_left_the_group()
    _report({"code": code, "duration_s": duration_s, "ended": word is not None})


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _pipe_of_signals() -> int:
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    # A batch system's SIGTERM to everybody is the worker's to answer. Handlers, unlike SIG_IGN, are not inherited.
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
            preexec_fn=lambda: _prctl(PR_SET_PDEATHSIG, signal.SIGKILL),  # safe: there are no threads here
        )


def _wait(process: "subprocess.Popen[bytes]", woken: int) -> bytes | None:
    """Until the command has ended (None) or shall end."""
    while process.poll() is None:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        elif word := os.read(0, 1):
            return word
        else:
            return GENTLY
    return None


def _end_gently(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    os.set_blocking(0, False)
    deadline = time.monotonic() + grace_s
    if grace_s > 0:
        _signal_group(process.pid, signal.SIGTERM)
    while time.monotonic() < deadline and _lives(process):
        with suppress(BlockingIOError):
            if AT_ONCE in os.read(0, 16):
                return
        time.sleep(LOOK_S)


def _lives(process: "subprocess.Popen[bytes]") -> bool:
    process.poll()
    with suppress(ChildProcessError):
        while os.waitpid(-process.pid, os.WNOHANG)[0]:
            pass  # those of the group that we adopted would count as living until they are waited for
    return _signal_group(process.pid, 0)


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # the second is what macOS says of zombies
        return False
    return True


def _kill(group: int) -> None:
    _signal_group(group, signal.SIGKILL)


def _kill_those_who_left_the_group() -> None:
    """On Linux also a daemon: whoever lost its parent is ours, and each one killed hands us its children."""
    mine = Path(f"/proc/self/task/{os.getpid()}/children")
    while children := [int(pid) for pid in mine.read_text().split()] if mine.exists() else []:
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _report(how: dict[str, object]) -> None:
    with suppress(BrokenPipeError):  # the worker is gone
        os.write(1, json.dumps(how).encode() + b"\n")


if __name__ == "__main__":
    main()
