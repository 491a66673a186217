"""A server with tokens, whose response times and memory are watched."""

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import psutil

from benchmarks.server_processes import server_process

ADMIN, WORKER = "admin-token-of-the-attack", "worker-token-of-the-attack"
STUDY = {
    "name": "wing",
    "variables": [{"name": "a", "low": 0.0, "high": 1.0}],
    "objectives": [{"name": "mass"}, {"name": "drag"}],
    "budget": 50,
}
PROBE_S = 0.02


@dataclass(frozen=True, slots=True)
class Target:
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=120.0)

    def memory_mb(self) -> float:
        return float(psutil.Process(self.pid).memory_info().rss / 1e6)


@dataclass(slots=True)
class Watch:
    """Times of /healthz, and the most memory, while something goes on."""

    before_mb: float
    times_ms: list[float] = field(default_factory=list)
    most_mb: float = 0.0

    def figures(self) -> dict[str, float]:
        return {
            "healthz p50 ms": round(statistics.median(self.times_ms), 1),
            "healthz max ms": round(max(self.times_ms), 1),
            "memory before MB": round(self.before_mb),
            "memory most MB": round(self.most_mb),
        }


@contextmanager
def attacked_server(url: str) -> Iterator[Target]:
    tokens = {
        "COUNTERPOISE_ADMIN_TOKENS": ADMIN,
        "COUNTERPOISE_WORKER_TOKENS": WORKER,
    }
    with server_process(url, **tokens) as (port, pid):
        target = Target(port, pid)
        with target.client(ADMIN) as admin:
            admin.post("/studies", json=STUDY).raise_for_status()
        yield target


@contextmanager
def watched(target: Target) -> Iterator[Watch]:
    watch = Watch(target.memory_mb())
    ended = threading.Event()

    def probe() -> None:
        with target.client() as client:
            while not ended.wait(PROBE_S):
                began = time.perf_counter()
                client.get("/healthz").raise_for_status()
                watch.times_ms.append(1000.0 * (time.perf_counter() - began))
                watch.most_mb = max(watch.most_mb, target.memory_mb())

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()
