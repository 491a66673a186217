"""Processes that are killed with SIGKILL and started again."""

import signal
import subprocess
from pathlib import Path

import psutil

from benchmarks.service.postgresql import PostgreSQL
from tests.e2e.processes import PATIENCE_S, children, environment

END_S = 15.0


class RestartableProcess:
    def __init__(
        self, name: str, folder: Path, *command: str | Path, **variables: str
    ) -> None:
        self.folder = folder
        self.command = command
        self.variables = variables
        self.log = folder / f"{name}.log"
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env={**environment(), **self.variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """When this returns the process has ended, and so have its children."""
        family = children(self.process.pid)
        self.process.kill()
        self.process.wait()
        assert psutil.wait_procs(family, PATIENCE_S)[1] == [], (
            "a killed process left children behind"
        )

    def restart(self) -> None:
        self.kill()
        self.start()

    def end(self) -> None:
        family = children(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for child in psutil.wait_procs(family, END_S)[1]:
            child.kill()


def restart_postgresql(postgresql: PostgreSQL) -> None:
    """Kill all of its processes at once, so that no more is written, and start it
    again.
    """
    postmaster = psutil.Process(postgresql.server.get_pid())
    postmaster.send_signal(signal.SIGSTOP)  # it starts no more processes
    family = [postmaster, *postmaster.children()]
    for process in family:
        process.kill()
    psutil.wait_procs(family, PATIENCE_S)
    postgresql.server.ensure_postgres_running()
