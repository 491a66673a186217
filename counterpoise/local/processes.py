"""Processes of a local study, which end with it, however it ends."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from counterpoise.blas_threads import ONE_BLAS_THREAD
from counterpoise.child_processes import Guardian

GRACE_S = 10.0
PYTHON = (sys.executable, "-P")  # -P: not the `app` or `workers` folder of a user
COUNTERPOISE = (*PYTHON, "-c", "from counterpoise.cli import main; main()")


class RunFailed(Exception):
    """The message contains what to do; `code` is the exit code of the process that
    failed, if one did.
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class LocalProcess:
    def __init__(
        self, name: str, process: "subprocess.Popen[bytes]", log: Path
    ) -> None:
        self.name = name
        self.log = log
        self._process = process

    def is_running(self) -> bool:
        """False if it has ended with exit code 0; raises RunFailed for any other."""
        code = self._process.poll()
        if code:
            lines = self.log.read_text(errors="replace").strip().splitlines() or [
                "no output"
            ]
            reason = lines[-1].removeprefix("Error: ")
            raise RunFailed(
                f"the {self.name} ended with exit code {code}: {reason} (its log: {self.log})",
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


class LocalProcesses:
    """All in one process group, which Ctrl-C in a terminal does not reach."""

    def __init__(self, folder: Path, group: int) -> None:
        self.folder = folder
        self._group = group
        self._processes: list[LocalProcess] = []

    def start(
        self, name: str, command: Sequence[str], **environment: str
    ) -> LocalProcess:
        """In the folder, which also gets the log."""
        log = self.folder / f"{name.replace(' ', '-')}.log"
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("COUNTERPOISE_")
        }
        with log.open("wb") as stream:
            process = subprocess.Popen(  # noqa: S603
                command,
                cwd=self.folder,
                env={**inherited, **ONE_BLAS_THREAD, **environment},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=self._group,
            )
        started = LocalProcess(name, process, log)
        self._processes.append(started)
        return started

    def check(self) -> None:
        """Raises RunFailed if one of them has failed."""
        for process in self._processes:
            process.is_running()

    def wait(self) -> None:
        for process in self._processes:
            process.wait()


@contextmanager
def local_processes(folder: Path) -> Iterator[LocalProcesses]:
    """Processes that end with the block."""
    guardian = Guardian(GRACE_S)
    processes = LocalProcesses(folder, guardian.group)
    try:
        yield processes
    finally:
        guardian.end_gently()
        processes.wait()
        guardian.close()
