"""The planner's process: its entry point, and the supervisor with which a server keeps
one running.
"""

import os
import signal
import subprocess
import sys
import threading

import structlog

from app.logs import configure_logs
from app.migrate import prepare_database
from app.settings import Settings
from counterpoise.child_processes import end_with_parent

log = structlog.stdlib.get_logger("counterpoise")
# to finish the current step; an unfinished one is computed again by the next planner
GRACE_S = 3.0
RESTART_S = 1.0
POLL_S = 0.2
# -P: ignore a user's own `app` folder in the working directory.
COMMAND = [
    sys.executable,
    "-P",
    "-c",
    "from counterpoise.cli import main; main()",
    "planner",
    "--with-parent",
]


def run_planner(settings: Settings, *, with_parent: bool) -> None:
    """Plan until SIGINT or SIGTERM or, with a parent, until standard input ends."""
    # Here: a server imports this module and needs no scikit-learn
    from app.planner import (
        planner,
    )

    configure_logs(settings)
    prepare_database(settings)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if with_parent:
        end_with_parent(stop.set, GRACE_S)
    planner.run(settings, stop)


class PlannerSupervisor:
    """Runs a planner process while the context is open, and starts another one whenever
    it ends.
    """

    def __init__(self, settings: Settings) -> None:
        self._environment = {
            **os.environ,
            "COUNTERPOISE_DATABASE_URL": settings.database_url,
        }
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            code = self._run_once()
            if not self._stop.is_set():
                log.warning(
                    "the planner process ended; starting another one", code=code
                )
                self._stop.wait(RESTART_S)

    def _run_once(self) -> int:
        """Wait until the process ends or the supervisor stops; returns the exit code."""
        with subprocess.Popen(  # noqa: S603
            COMMAND, env=self._environment, stdin=subprocess.PIPE
        ) as process:
            while process.poll() is None and not self._stop.wait(POLL_S):
                pass
            process.stdin.close()  # type: ignore[union-attr]
            try:
                return process.wait(GRACE_S + 2.0)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()
