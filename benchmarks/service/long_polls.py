"""`python -m benchmarks.service.long_polls [CHECKOUT [DATABASE]]`: ask and tell of 20 workers while
200 others wait, on both databases; beside the version in another checkout, in turn.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil

from benchmarks.service.postgresql import running_postgresql

WAITING, ACTIVE = 200, 20
ROUNDS, ROUND_S = 6, 6.0
PACE_S = 0.5  # from ask to ask of an active worker
SAMPLES, OBJECTIVES = 320, 6  # more jobs than the active workers can get
STUDY = {
    "name": "load",
    "variables": [{"name": f"x{k}", "low": 0.0, "high": 1.0} for k in range(4)],
    "objectives": [
        {"name": f"f{k}", "evaluation_time_s": 1.0} for k in range(OBJECTIVES)
    ],
    "budget": SAMPLES,
    "initial_samples": SAMPLES,
}
HERE = Path(__file__).parents[2]
COMMAND = "from counterpoise.cli import main; main()"
Times = dict[str, list[float]]


def main(checkouts: dict[str, Path], databases: Sequence[str]) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgresql = stack.enter_context(running_postgresql())
        for database in databases:
            with ExitStack() as servers:
                running = {}
                for version, checkout in checkouts.items():
                    location = f"sqlite:///{folder / version}.db"
                    if database == "postgresql":
                        location = postgresql.create()
                    server = serving(checkout, location, folder / f"{version}.log")
                    running[version] = servers.enter_context(server)
                measure(database, running)


def measure(database: str, running: dict[str, tuple[str, int]]) -> None:
    times: dict[str, Times] = {version: {"ask": [], "tell": []} for version in running}
    cpu_s = dict.fromkeys(running, 0.0)
    for _ in range(ROUNDS):
        for version, (url, pid) in running.items():
            before = cpu_seconds(pid)
            asyncio.run(load(url, times[version]))
            cpu_s[version] += cpu_seconds(pid) - before
    for version, measured in times.items():
        row: dict[str, object] = {"database": database, "version": version}
        for request, seconds in measured.items():
            cuts = statistics.quantiles(seconds, n=100, method="inclusive")
            row[f"{request}s"] = len(seconds)
            row[f"{request} p50 ms"] = round(1e3 * cuts[49], 1)
            row[f"{request} p99 ms"] = round(1e3 * cuts[98], 1)
        # With the 200 long polls; another load of the machine changes it little
        cycles = len(measured["tell"])
        row["server CPU ms per ask and tell"] = round(1e3 * cpu_s[version] / cycles, 2)
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


def cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


async def load(url: str, times: Times) -> None:
    waiting = [
        asyncio.create_task(wait_for_jobs(url, number)) for number in range(WAITING)
    ]
    async with httpx.AsyncClient(base_url=url, timeout=90.0) as client:
        await all_wait(client)
        ends = time.monotonic() + ROUND_S
        workers = [work(client, number, ends, times) for number in range(ACTIVE)]
        await asyncio.gather(*workers)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def wait_for_jobs(url: str, number: int) -> None:
    """A long poll on a plain connection: it must not keep this process busy."""
    body = json.dumps(
        {
            "worker": f"waiting-{number}",
            "studies": ["load"],
            "objectives": ["nothing"],
            "wait_s": 60,
        }
    )
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(url.rpartition(":")[2])
    )
    head = (
        "POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    try:
        writer.write((head + body).encode())
        await reader.read()
    finally:
        writer.close()


async def all_wait(client: httpx.AsyncClient) -> None:
    text = ""
    while f"counterpoise_asks_waiting {float(WAITING)}" not in text:
        await asyncio.sleep(1.1)  # scrapes that are closer together are the same
        text = (await client.get("/metrics")).text


async def work(
    client: httpx.AsyncClient, number: int, ends: float, times: Times
) -> None:
    await asyncio.sleep(PACE_S * number / ACTIVE)
    body = {"worker": f"active-{number}", "studies": ["load"], "objectives": ["*"]}
    while time.monotonic() < ends:
        began = time.perf_counter()
        asked = await client.post("/ask", json=body)
        asked_at = time.perf_counter()
        (job,) = asked.json()["jobs"]
        tell = {"job": job["job"], "lease": job["lease"], "value": 1.0}
        told = await client.post("/tell", json=tell)
        told_at = time.perf_counter()
        told.raise_for_status()
        times["ask"].append(asked_at - began)
        times["tell"].append(told_at - asked_at)
        await asyncio.sleep(max(PACE_S - (told_at - began), 0.0))


@contextmanager
def serving(checkout: Path, database_url: str, log: Path) -> Iterator[tuple[str, int]]:
    """A server and a planner of this checkout; yields URL and process id of the server
    when the jobs are there.
    """
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("COUNTERPOISE_")},
        "PYTHONPATH": str(checkout),
        "COUNTERPOISE_DATABASE_URL": database_url,
        "COUNTERPOISE_LOG_FORMAT": "json",
    }
    command = [sys.executable, "-c", COMMAND]
    subprocess.run(  # noqa: S603
        [*command, "migrate"], env=environment, cwd=checkout, check=True
    )
    with (
        log.open("w") as stream,
        subprocess.Popen(  # noqa: S603
            [*command, "serve", "--port", "0"],
            env=environment,
            cwd=checkout,
            stderr=stream,
        ) as process,
    ):
        try:
            while '"listening"' not in log.read_text():
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended: {log.read_text()}")
                time.sleep(0.1)
            line = next(
                line for line in log.read_text().splitlines() if '"listening"' in line
            )
            url = str(json.loads(line)["url"])
            httpx.post(f"{url}/studies", json=STUDY).raise_for_status()
            while httpx.get(f"{url}/studies/load").json()["planned_full"] < SAMPLES:
                time.sleep(0.2)
            yield url, process.pid
        finally:
            process.terminate()


if __name__ == "__main__":
    before = {"before": Path(sys.argv[1]).resolve()} if len(sys.argv) > 1 else {}
    main({**before, "now": HERE}, sys.argv[2:] or ("sqlite", "postgresql"))
