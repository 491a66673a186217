"""Python functions, each slot's in a process of its own: what crashes or hangs there does not reach the worker."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from counterpoise.child_processes import Guardian, kill_group
from counterpoise.wire.work import Job
from counterpoise.worker.evaluators.evaluator import MESSAGE_TAIL, Outcome, failed, outcome_of

BOOT = "from counterpoise.worker.evaluators.function_process import main; main()"
LOOK_S = 1.0  # a process can end while something it started holds its pipes open
KEPT = 4 * MESSAGE_TAIL  # bytes of what was printed; a character has up to four
MOST_DRAINED = 1 << 20


class FunctionUnusable(Exception):
    """A function that cannot be loaded; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Where an evaluation process finds a function."""

    module: str
    name: str
    file: str | None = None  # the script, for functions of `__main__`

    @classmethod
    def parse(cls, text: str) -> "Reference":
        module, colon, name = text.partition(":")
        if not (colon and module and name):
            raise FunctionUnusable(f"{text!r} is not a function; write package.module:function")
        return cls(module, name)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Reference":
        module, name = function.__module__, function.__qualname__
        if "<" in name:
            raise FunctionUnusable(
                f"an evaluation process cannot find {name} of {module}; define it with `def` at the top of a module"
            )
        if module != "__main__":
            return cls(module, name)
        main = sys.modules["__main__"]
        if main.__spec__ is not None:  # python -m
            return cls(main.__spec__.name, name)
        if getattr(main, "__file__", None) is None:
            raise FunctionUnusable(
                f"{name} was defined interactively, where an evaluation process cannot find it; put it into a file"
            )
        return cls(module, name, str(Path(str(main.__file__)).absolute()))


class FunctionEvaluator:
    def __init__(self, functions: Mapping[str, Reference], folder: Path | None = None) -> None:
        """Modules are looked for in `folder` first, then where this process looks for them."""
        paths = [*([str(folder)] if folder else []), *(path or str(Path.cwd()) for path in sys.path)]
        hello = {"path": paths, "functions": {name: asdict(each) for name, each in functions.items()}}
        self._hello = json.dumps(hello) + "\n"
        self._guardian = Guardian()
        self._children: dict[int, Child] = {}

    def check(self) -> None:
        """Load every function once, in a process that will be the first slot's; FunctionUnusable if one cannot be."""
        child = self._children[0] = Child(self._hello, self._guardian)
        while (answer := child.read(None)) is None:
            pass
        if "broken" in answer or "ended" in answer:
            raise FunctionUnusable(str(answer.get("broken") or f"{answer['ended']}\n{child.printed()}").rstrip())

    def start(self, slot: int, job: Job) -> "Evaluation":
        child = self._children.get(slot)
        if child is None or not child.lives():
            if child is not None:
                child.end()
            child = self._children[slot] = Child(self._hello, self._guardian)
        return Evaluation(child, job)

    def close(self) -> None:
        for child in self._children.values():
            child.end()
        self._guardian.close()


class Evaluation:
    """A job in its slot's process."""

    def __init__(self, child: "Child", job: Job) -> None:
        self._child = child
        self._job = job
        self._began = time.monotonic()
        self._why: str | None = None
        self._over = False
        self._lock = threading.Lock()
        child.forget_printed()
        child.write(json.dumps(job.model_dump(mode="json")) + "\n")

    def wait(self, timeout_s: float | None) -> Outcome | None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            answer = self._child.read(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if answer is not None and "ready" not in answer:
                with self._lock:
                    self._over = True
                return self._outcome(answer)
            if answer is None and deadline is not None and time.monotonic() >= deadline:
                return None

    def cancel(self, why: str) -> None:
        with self._lock:
            if not self._over:  # else the process may have begun another job
                self._why = self._why or why
                self._child.kill()

    def _outcome(self, answer: dict[str, Any]) -> Outcome:
        printed = self._child.printed()
        took = float(answer.get("duration_s", time.monotonic() - self._began))
        if "returned" in answer:
            return outcome_of(answer["returned"], self._job, duration_s=took, printed=printed)
        if "raised" in answer:
            return failed(answer["raised"], answer["words"], printed, duration_s=took)
        self._child.end()
        if "broken" in answer:  # it could be loaded when the worker began
            return failed("infrastructure", f"the function cannot be loaded: {answer['broken']}", printed)
        return failed("error", self._why or answer["ended"], printed, duration_s=took)


class Child:
    """An evaluation process, leader of a group of its own."""

    def __init__(self, hello: str, guardian: Guardian) -> None:
        self._guardian = guardian
        theirs_in, self._in = os.pipe()
        self._out, theirs_out = os.pipe()
        self._printed, theirs_printed = os.pipe()
        self._process = subprocess.Popen(  # noqa: S603
            # -P: nothing of the user's folder comes before our own modules; `hello` says where to look for theirs.
            [sys.executable, "-P", "-c", BOOT, str(theirs_in), str(theirs_out)],
            stdin=subprocess.DEVNULL,
            stdout=theirs_printed,
            stderr=theirs_printed,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,
        )
        for number in (theirs_in, theirs_out, theirs_printed):
            os.close(number)
        os.set_blocking(self._printed, False)
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._printed, select.POLLIN)
        self._answer = b""
        self._tail = b""
        self._ended = False
        guardian.watch(self._process.pid)  # before it is told what to do: until then it ends when its input does
        self.write(hello)

    def write(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has ended, as the next `read` will say
            os.write(self._in, line.encode())

    def read(self, timeout_s: float | None) -> dict[str, Any] | None:
        """The next answer, or how the process `ended`; None if there is none yet."""
        if b"\n" not in self._answer:  # one read may bring two answers
            ready = dict(self._poll.poll(1000 * min(LOOK_S, LOOK_S if timeout_s is None else timeout_s)))
            if self._printed in ready and not self._keep_printed():
                self._poll.unregister(self._printed)
            if self._out in ready:
                part = os.read(self._out, 1 << 16)
                self._answer += part
                if not part:
                    kill_group(self._process.pid)
                    self._process.wait()
        line, newline, rest = self._answer.partition(b"\n")
        if newline:
            self._answer = rest
            self._drain()
            answer: dict[str, Any] = json.loads(line)
            return answer
        if self._process.poll() is None:
            return None
        self._drain()
        return {"ended": _ending(self._process.returncode)}

    def printed(self) -> str:
        return self._tail.decode(errors="replace")[-MESSAGE_TAIL:]

    def forget_printed(self) -> None:
        self._drain()
        self._tail = b""

    def lives(self) -> bool:
        return not self._ended and self._process.poll() is None

    def kill(self) -> None:
        kill_group(self._process.pid)

    def end(self) -> None:
        """End it and all that it has started."""
        if self._ended:
            return
        kill_group(self._process.pid)
        self._ended = True
        self._guardian.forget(self._process.pid)
        self._process.wait()
        for number in (self._in, self._out, self._printed):
            os.close(number)

    def _keep_printed(self) -> int:
        """Answers how much there was; 0 at the end."""
        try:
            part = os.read(self._printed, 1 << 16)
        except BlockingIOError:
            return 0
        self._tail = (self._tail + part)[-KEPT:]
        return len(part)

    def _drain(self) -> None:
        """All that was printed before an answer is there when the answer is."""
        drained = 0
        while drained < MOST_DRAINED and (size := self._keep_printed()):
            drained += size


def _ending(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the evaluation process was ended by signal {signal.Signals(-code).name}"
    return f"the evaluation process ended with exit code {code}"
