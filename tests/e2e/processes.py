"""Real processes: servers, planners, workers.

Each is ended, with all its children, when its block ends.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import httpx
import psutil

COUNTERPOISE = Path(sys.executable).with_name("counterpoise")
ROOT = Path(__file__).parents[2]
PATIENCE_S = 240.0  # for a loaded machine; nothing here takes long on an idle one
T = TypeVar("T")


def environment() -> dict[str, str]:
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COUNTERPOISE_")
    }
    return {**own, "COUNTERPOISE_LOG_FORMAT": "json", "PYTHONPATH": str(ROOT)}


def eventually(
    look: Callable[[], T | None], what: str, patience_s: float = PATIENCE_S
) -> T:
    """The first result that is not None, False or empty."""
    deadline = time.monotonic() + patience_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


@contextmanager
def running(
    *command: str | Path, **variables: str
) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A process with these variables in its environment, and the file that it writes
    its log into.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("wb") as stream:
            given = {**environment(), **variables}
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=given,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        family = [psutil.Process(process.pid)]
        try:
            yield process, log
        finally:
            family += children(process.pid)
            process.terminate()
            _, alive = psutil.wait_procs(family, 15)
            for left in alive:
                left.kill()
            process.wait(15)


def children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@contextmanager
def serving(
    database_url: str, *options: str, port: int = 0, **variables: str
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A server that is ready; yields its URL."""
    arguments = ("serve", "--port", str(port), "--database-url", database_url, *options)
    with running(COUNTERPOISE, *arguments, **variables) as (process, log):
        url = eventually(lambda: listening(process, log), "the server's address")
        eventually(lambda: is_ready(url), "the server")
        yield url, process


def listening(process: "subprocess.Popen[bytes]", log: Path) -> str | None:
    assert process.poll() is None, log.read_text()
    lines = [
        json.loads(line)
        for line in log.read_text().splitlines()
        if '"listening"' in line and line.endswith("}")
    ]
    return str(lines[0]["url"]) if lines else None


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def planning(database_url: str) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    with running(COUNTERPOISE, "planner", "--database-url", database_url) as (
        process,
        log,
    ):
        eventually(lambda: '"planner started"' in log.read_text(), "the planner")
        yield process, log


@contextmanager
def working(
    url: str, study: str, objective: str
) -> Iterator["subprocess.Popen[bytes]"]:
    command = (sys.executable, "-m", "tests.e2e.plate_worker", url, study, objective)
    with running(*command) as (process, log):
        yield process
        assert process.poll() in (0, None), log.read_text()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def run_script(script: str, folder: Path, url: str) -> str:
    """What a shell printed. What it left running in the background is ended."""
    path = f"{COUNTERPOISE.parent}:{os.environ['PATH']}"
    with (folder / "log").open("w") as log:
        shell = subprocess.Popen(
            ["sh", "-c", script],
            cwd=folder,
            env={
                **environment(),
                "COUNTERPOISE_URL": url,
                "PATH": path,
                "XDG_STATE_HOME": str(folder),
            },
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = shell.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGTERM)
    eventually(lambda: not lives(shell.pid), "the end of what runs in the background")
    said = (folder / "log").read_text()
    assert code == 0, said
    return said


def lives(group: int) -> bool:
    with suppress(ProcessLookupError):
        os.killpg(group, 0)
        return True
    return False
