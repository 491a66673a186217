"""Processes that are killed with SIGKILL and come back."""

import signal
import subprocess
from pathlib import Path

import psutil

from benchmarks.service.postgresql import PostgreSQL
from tests.e2e.processes import PATIENCE_S, children, environment


class Phoenix:
    """A process that can be started again whenever it was killed."""

    def __init__(self, name: str, folder: Path, *command: str | Path, **variables: str) -> None:
        self.folder, self.command, self.variables = folder, command, variables
        self.log = folder / f"{name}.log"
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as stream:
            given = {**environment(), **self.variables}
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env=given, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )

    def kill(self) -> None:
        """It is dead when this returns, and so are its children."""
        family = children(self.process.pid)
        self.process.kill()
        self.process.wait()
        assert psutil.wait_procs(family, PATIENCE_S)[1] == [], "a killed process left others behind"

    def end(self) -> None:
        family = children(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for left in psutil.wait_procs(family, 15)[1]:
            left.kill()


def kill_postgresql(postgresql: PostgreSQL) -> None:
    """All of its processes at once, so that nothing is written that was not on its way to the disk; then it is back."""
    postmaster = psutil.Process(postgresql.server.get_pid())
    postmaster.send_signal(signal.SIGSTOP)  # no new ones
    family = [postmaster, *postmaster.children()]
    for one in family:
        one.kill()
    psutil.wait_procs(family, PATIENCE_S)
    postgresql.server.ensure_postgres_running()
