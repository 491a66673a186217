"""A server with its planner as a process of this machine."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from counterpoise.local.processes import COUNTERPOISE, LocalProcess, LocalProcesses

START_POLL_S = 0.05
# Its workers are on the same machine, so that a lost heartbeat means a dead worker:
# after a crash, jobs that it held are handed out again soon.
LEASES = {"COUNTERPOISE_LEASE_S": "15", "COUNTERPOISE_HEARTBEAT_S": "5"}


@dataclass(frozen=True, slots=True)
class LocalServer:
    process: LocalProcess
    url: str


def start_server(processes: LocalProcesses, port: int, database: str) -> LocalServer:
    """Returns when it is ready; `database` is a file in the folder of the processes."""
    command = [
        *COUNTERPOISE,
        "serve",
        "--port",
        str(port),
        "--database-url",
        f"sqlite:///{database}",
    ]
    process = processes.start(
        "server", command, COUNTERPOISE_LOG_FORMAT="json", **LEASES
    )
    while not (url := _url_in_log(process.log)):
        process.is_running()
        time.sleep(START_POLL_S)
    while not _is_ready(url):
        process.is_running()
        time.sleep(START_POLL_S)
    return LocalServer(process, url)


def _url_in_log(log: Path) -> str | None:
    for line in log.read_text().splitlines():
        if '"listening"' in line and line.endswith("}"):
            return str(json.loads(line)["url"])
    return None


def _is_ready(url: str) -> bool:
    try:
        response = httpx.get(f"{url}/readyz", timeout=10, trust_env=False)
    except httpx.TransportError:
        return False
    return response.status_code == 200
