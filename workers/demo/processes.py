"""Processes that do not outlive the demo, however it ends."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from counterpoise.blas_threads import ONE_BLAS_THREAD
from counterpoise.child_processes import Guardian

GRACE_S = 10.0
# -P: a user's own `app` or `workers` folder must not be taken for ours.
PYTHON = (sys.executable, "-P")
COUNTERPOISE = (*PYTHON, "-c", "from counterpoise.cli import main; main()")


class DemoFailed(Exception):
    """Says what, and what to do; the code is that of the process whose end it was, if it was one's."""

    def __init__(self, words: str, code: int = 1) -> None:
        super().__init__(words)
        self.code = code


class Process:
    def __init__(self, name: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process

    def running(self) -> bool:
        """False when it has ended well; if not well, DemoFailed."""
        code = self._process.poll()
        if code:
            lines = self.log.read_text(errors="replace").strip().splitlines() or ["no word"]
            raise DemoFailed(
                f"the {self.name} ended with {code}: {lines[-1].removeprefix('Error: ')} (all of it in {self.log})",
                code,
            )
        return code is None

    def stop(self) -> None:
        self._process.terminate()
        self.wait()

    def wait(self) -> None:
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Crew:
    """Starts processes in one group of their own, which a terminal's Ctrl-C does not reach."""

    def __init__(self, folder: Path, group: int) -> None:
        self.folder = folder
        self._group = group
        self._members: list[Process] = []

    def start(self, name: str, command: Sequence[str], **environment: str) -> Process:
        """In the folder, with a log of its own there."""
        log = self.folder / f"{name.replace(' ', '-')}.log"
        own = {key: value for key, value in os.environ.items() if not key.startswith("COUNTERPOISE_")}
        with log.open("wb") as stream:
            process = subprocess.Popen(  # noqa: S603
                command,
                cwd=self.folder,
                env={**own, **ONE_BLAS_THREAD, **environment},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=self._group,
            )
        self._members.append(Process(name, process, log))
        return self._members[-1]

    def check(self) -> None:
        for member in self._members:
            member.running()

    def wait(self) -> None:
        for member in self._members:
            member.wait()


@contextmanager
def crew(folder: Path) -> Iterator[Crew]:
    """When the block ends, all have ended."""
    guardian = Guardian(GRACE_S)
    members = Crew(folder, guardian.group)
    try:
        yield members
    finally:
        guardian.end_gently()
        members.wait()
        guardian.close()
