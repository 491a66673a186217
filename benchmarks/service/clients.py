"""Clients of `bench service`: ask and tell over HTTP, with as little work of their own
as possible.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from benchmarks.service.worker_processes import Share

PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Load:
    """What each client does: so many cycles of one ask and the tells of its jobs."""

    port: int
    studies: tuple[str, ...]
    objectives: tuple[str, ...]
    cycles: int
    batch: int = 1  # jobs per ask; with more than one, a list of tells
    # From one cycle's begin to the next one's; 0: as fast as it gets
    every_s: float = 0.0


class Client:
    """One kept connection, as a worker has."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def post(self, path: str, body: object) -> Any:
        return self.request("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def request(self, method: str, path: str, body: bytes | None = None) -> Any:
        self._connection.request(
            method, path, body, {"Content-Type": "application/json"}
        )
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= 300:
            raise RuntimeError(
                f"{method} {path}: status {response.status}: {answer[:500]!r}"
            )
        return json.loads(answer)

    def close(self) -> None:
        self._connection.close()


def work(load: Load, number: int, start: Callable[[], object]) -> Share:
    start()
    client = Client(load.port)
    client.get("/healthz")  # the connection is there before anything is measured
    share = Share()
    # Objectives in turn, so that whole samples are finished; clients spread over the
    # interval and the objectives.
    time.sleep(load.every_s * number / 8)
    share.began = due = time.monotonic()
    for cycle in range(load.cycles):
        objective = load.objectives[(number + cycle) % len(load.objectives)]
        share.done += _cycle(client, load, f"client{number}", objective, share)
        due += load.every_s
        time.sleep(max(0.0, due - time.monotonic()) if load.every_s else 0.0)
    share.ended = time.monotonic()
    client.close()
    return share


def _cycle(
    client: Client, load: Load, worker: str, objective: str, share: Share
) -> int:
    ask = {
        "worker": worker,
        "studies": load.studies,
        "objectives": [objective],
        "max_jobs": load.batch,
        "wait_s": 30.0,
    }
    began = time.monotonic()
    jobs = client.post("/ask", ask)["jobs"]
    share.timed("ask", began)
    tells = [
        {"job": job["job"], "lease": job["lease"], "value": 1.5, "duration_s": 0.1}
        for job in jobs
    ]
    began = time.monotonic()
    told = client.post("/tell", tells if load.batch > 1 else tells[0])
    share.timed("tell", began)
    answers = told if isinstance(told, list) else [told]
    if not jobs or any(answer["status"] != 200 for answer in answers):
        raise RuntimeError(f"asked {ask}, told {answers}")
    return len(jobs)
