"""`python -m benchmarks.service.long_polls [CHECKOUT]`: ask and tell of 20 workers while
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from benchmarks.service.postgresql import running_postgresql

WAITING, ACTIVE = 200, 20
ROUNDS, ROUND_S = 3, 6.0
PACE_S = 0.2  # from ask to ask of an active worker
SAMPLES = 1900  # more than the active workers can get
STUDY = {
    "name": "load",
    "variables": [{"name": f"x{k}", "low": 0.0, "high": 1.0} for k in range(4)],
    "objectives": [{"name": "mass", "evaluation_time_s": 1.0}],
    "budget": SAMPLES,
    "initial_samples": SAMPLES,
}
HERE = Path(__file__).parents[2]
COMMAND = "from counterpoise.cli import main; main()"
Times = dict[str, list[float]]


def main(checkouts: dict[str, Path]) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgresql = stack.enter_context(running_postgresql())
        for database in ("sqlite", "postgresql"):
            with ExitStack() as servers:
                urls = {}
                for version, checkout in checkouts.items():
                    location = f"sqlite:///{folder / version}.db"
                    if database == "postgresql":
                        location = postgresql.create()
                    server = serving(checkout, location, folder / f"{version}.log")
                    urls[version] = servers.enter_context(server)
                measure(database, urls)


def measure(database: str, urls: dict[str, str]) -> None:
    times: dict[str, Times] = {version: {"ask": [], "tell": []} for version in urls}
    for _ in range(ROUNDS):
        for version, url in urls.items():
            asyncio.run(load(url, times[version]))
    for version, measured in times.items():
        row: dict[str, object] = {"database": database, "version": version}
        for request, seconds in measured.items():
            cuts = statistics.quantiles(seconds, n=100, method="inclusive")
            row[f"{request}s"] = len(seconds)
            row[f"{request} p50 ms"] = round(1e3 * cuts[49], 1)
            row[f"{request} p99 ms"] = round(1e3 * cuts[98], 1)
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


async def load(url: str, times: Times) -> None:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=90.0, limits=limits) as client:
        waiting = [
            asyncio.create_task(wait_for_jobs(client, number))
            for number in range(WAITING)
        ]
        await asyncio.sleep(2.0)  # until all of them wait
        ends = time.monotonic() + ROUND_S
        workers = [work(client, number, ends, times) for number in range(ACTIVE)]
        await asyncio.gather(*workers)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def wait_for_jobs(client: httpx.AsyncClient, number: int) -> None:
    body = {
        "worker": f"waiting-{number}",
        "studies": ["load"],
        "objectives": ["nothing"],
        "wait_s": 60,
    }
    while True:
        await client.post("/ask", json=body)


async def work(
    client: httpx.AsyncClient, number: int, ends: float, times: Times
) -> None:
    await asyncio.sleep(PACE_S * number / ACTIVE)
    body = {"worker": f"active-{number}", "studies": ["load"], "objectives": ["mass"]}
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
def serving(checkout: Path, database_url: str, log: Path) -> Iterator[str]:
    """A server and a planner of this checkout; yields the URL when the jobs are there."""
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
                time.sleep(0.1)
            line = next(
                line for line in log.read_text().splitlines() if '"listening"' in line
            )
            url = str(json.loads(line)["url"])
            httpx.post(f"{url}/studies", json=STUDY).raise_for_status()
            while httpx.get(f"{url}/studies/load").json()["planned_full"] < SAMPLES:
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


if __name__ == "__main__":
    before = {"before": Path(sys.argv[1]).resolve()} if len(sys.argv) > 1 else {}
    main({**before, "now": HERE})
