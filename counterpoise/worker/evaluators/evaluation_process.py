"""An evaluation process, seen from the worker: messages to it and from it, its printed
output, its end.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from typing import Any

from counterpoise.child_processes import Guardian, kill_group
from counterpoise.worker.evaluators.environment import inherited_environment
from counterpoise.worker.evaluators.evaluator import MESSAGE_TAIL

MAIN = "from counterpoise.worker.evaluators.function_process import main; main()"
POLL_S = 1.0  # a process can end while another one that it started holds its pipes open
OUTPUT_BYTES = 4 * MESSAGE_TAIL  # a character has up to four
MOST_DRAINED = 1 << 20
CHUNK = 1 << 16


class EvaluationProcess:
    """The leader of a process group of its own.

    Messages are lines of JSON; the first one is what to load.
    """

    def __init__(self, first_message: str, guardian: Guardian) -> None:
        self._guardian = guardian
        child_in, self._in = os.pipe()
        self._out, child_out = os.pipe()
        self._printed, child_printed = os.pipe()
        self._process = subprocess.Popen(  # noqa: S603
            # -P: the user's folder does not hide our own modules; the first message has the path for the user's.
            [sys.executable, "-P", "-c", MAIN, str(child_in), str(child_out)],
            stdin=subprocess.DEVNULL,
            stdout=child_printed,
            stderr=child_printed,
            pass_fds=(child_in, child_out),
            start_new_session=True,
            env=inherited_environment(),
        )
        for descriptor in (child_in, child_out, child_printed):
            os.close(descriptor)
        os.set_blocking(self._printed, False)
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._printed, select.POLLIN)
        self._unread = b""
        self._output = b""
        self._ended = False
        # Before the first message: until then the process ends with its input
        guardian.watch(self._process.pid)
        self.send(first_message)

    def send(self, message: str) -> None:
        with contextlib.suppress(
            BrokenPipeError
        ):  # it has ended, as the next `receive` reports
            os.write(self._in, message.encode() + b"\n")

    def receive(self, timeout_s: float | None) -> dict[str, Any] | None:
        """The next message, or {"ended": how} once the process has ended; None if there
        is none yet.
        """
        if b"\n" not in self._unread:  # one read may return two messages
            self._read_pipes(POLL_S if timeout_s is None else min(POLL_S, timeout_s))
        line, newline, rest = self._unread.partition(b"\n")
        if newline:
            self._unread = rest
            self._drain_output()
            message: dict[str, Any] = json.loads(line)
            return message
        if self._process.poll() is None:
            return None
        self._drain_output()
        return {"ended": _describe_end(self._process.returncode)}

    def _read_pipes(self, timeout_s: float) -> None:
        ready = dict(self._poll.poll(1000 * timeout_s))
        if self._printed in ready and not self._read_output():
            self._poll.unregister(self._printed)
        if self._out in ready:
            chunk = os.read(self._out, CHUNK)
            self._unread += chunk
            if not chunk:
                kill_group(self._process.pid)
                self._process.wait()

    @property
    def output(self) -> str:
        """The end of the printed output."""
        return self._output.decode(errors="replace")[-MESSAGE_TAIL:]

    def discard_output(self) -> None:
        self._drain_output()
        self._output = b""

    def is_alive(self) -> bool:
        return not self._ended and self._process.poll() is None

    def kill(self) -> None:
        kill_group(self._process.pid)

    def close(self) -> None:
        """End the process and everything that it has started."""
        if self._ended:
            return
        self.kill()
        self._ended = True
        self._guardian.forget(self._process.pid)
        self._process.wait()
        for descriptor in (self._in, self._out, self._printed):
            os.close(descriptor)

    def _read_output(self) -> int:
        """Returns the number of bytes that were read; 0 at the end."""
        try:
            chunk = os.read(self._printed, CHUNK)
        except BlockingIOError:
            return 0
        self._output = (self._output + chunk)[-OUTPUT_BYTES:]
        return len(chunk)

    def _drain_output(self) -> None:
        """Read what was printed before a message arrived."""
        drained = 0
        while drained < MOST_DRAINED and (size := self._read_output()):
            drained += size


def _describe_end(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the evaluation process was ended by signal {signal.Signals(-code).name}"
    return f"the evaluation process ended with exit code {code}"
