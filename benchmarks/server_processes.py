"""`counterpoise serve` and `counterpoise planner` as processes of a benchmark, which end
with it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

# Standard input is a pipe from the benchmark: it ends when the benchmark does, in
# whatever way.
COMMAND = """
from counterpoise.child_processes import end_with_parent
from counterpoise.cli import main
end_with_parent()
main()
"""
PATIENCE_S = 60.0


@contextmanager
def serving(url: str) -> Iterator[int]:
    """Starts a server without a planner; yields its port once it accepts requests."""
    with server_process(url) as (port, _):
        yield port


@contextmanager
def server_process(url: str, **variables: str) -> Iterator[tuple[int, int]]:
    """The same with further variables in its environment; yields port and process id."""
    with _running(
        "serve", "--no-planner", "--port", "0", url=url, variables=variables
    ) as (process, log):
        deadline = time.monotonic() + PATIENCE_S
        while (port := _port(log)) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {log.read_text()}")
            time.sleep(0.05)
        yield port, process.pid


@contextmanager
def planning(url: str) -> Iterator[None]:
    with _running("planner", url=url):
        yield


@contextmanager
def _running(
    *arguments: str, url: str, variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COUNTERPOISE_")
    }
    environment |= {"COUNTERPOISE_DATABASE_URL": url, "COUNTERPOISE_LOG_FORMAT": "json"}
    environment |= variables
    command = [sys.executable, "-c", COMMAND, *arguments]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen(  # noqa: S603
                command, env=environment, stdin=subprocess.PIPE, stderr=stream
            )
        try:
            yield process, log
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdin is not None
            process.stdin.close()


def _port(log: Path) -> int | None:
    for line in log.read_text().splitlines():
        if '"listening"' in line:
            return int(json.loads(line)["url"].rpartition(":")[2])
    return None
