"""A server in memory: responds to the worker's requests, can be unavailable, and
records what it received.
"""

import itertools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from counterpoise.client import Client
from tests.worker.example_job import JOB


def lease_of(job: int) -> str:
    return f"{job:032x}"


@dataclass
class FakeServer:
    unavailable: bool = False
    finished: bool = False  # once there are no jobs left
    drained: bool = False
    timeout_s: float | None = None
    heartbeat_s: float = 20.0
    # By path: respond with this status instead
    statuses: dict[str, int] = field(default_factory=dict)
    # By job: the status of its tell
    refusals: dict[int, int] = field(default_factory=dict)
    poison: set[int] = field(default_factory=set)  # jobs whose tells break the server
    # By lease: reason and detail
    cancels: dict[str, tuple[str, str]] = field(default_factory=dict)
    ask_gate: threading.Event | None = None  # an ask is answered only when this is set
    ready: list[dict[str, Any]] = field(default_factory=list)
    asks: list[dict[str, Any]] = field(default_factory=list)
    told: dict[int, dict[str, Any]] = field(default_factory=dict)
    tells: list[list[int]] = field(default_factory=list)  # the jobs of each request
    # The leases of each request
    heartbeats: list[list[str]] = field(default_factory=list)
    heartbeat_timeouts: list[float] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def client(self) -> Client:
        return Client(
            "http://server", retry_s=0, transport=httpx.MockTransport(self.handle)
        )

    def add(self, count: int = 1) -> None:
        for number in itertools.islice(self.numbers, count):
            job = JOB.model_dump() | {
                "job": number,
                "lease": lease_of(number),
                "also": [],
            }
            self.ready.append(
                job | {"timeout_s": self.timeout_s, "heartbeat_s": self.heartbeat_s}
            )

    def handle(self, request: httpx.Request) -> httpx.Response:
        path, body = request.url.path, json.loads(request.content)
        if self.unavailable:
            raise httpx.ConnectError("refused")
        if path in self.statuses:
            return httpx.Response(self.statuses[path])
        if path == "/tell" and self.poison & {item["job"] for item in body}:
            return httpx.Response(500)
        if path == "/heartbeat":
            self.heartbeat_timeouts.append(request.extensions["timeout"]["read"])
        routes: dict[str, Callable[[Any], Any]] = {
            "/ask": self.ask,
            "/tell": self.tell,
            "/heartbeat": self.heartbeat,
            "/release": self.release,
        }
        with self.lock:
            response = routes[path](body)
        if path == "/ask":
            self._wait(response)
        return httpx.Response(200, json=response)

    def _wait(self, response: Any) -> None:
        if self.ask_gate is not None:
            self.ask_gate.wait()
        if not response["jobs"]:
            time.sleep(0.02)  # a short long poll

    def ask(self, body: dict[str, Any]) -> Any:
        self.asks.append(body)
        if self.drained:
            return {
                "jobs": [],
                "reason": "drained",
                "detail": "drained",
                "retry_after_s": 60.0,
            }
        count = body["max_jobs"]
        jobs, self.ready = self.ready[:count], self.ready[count:]
        if jobs:
            return {"jobs": jobs}
        reason = "finished" if self.finished else "all_leased"
        return {"jobs": [], "reason": reason, "detail": reason, "retry_after_s": 0.02}

    def tell(self, items: list[dict[str, Any]]) -> Any:
        self.tells.append([item["job"] for item in items])
        responses = []
        for item in items:
            status = self.refusals.get(item["job"], 200)
            if status == 200:
                assert self.told.setdefault(item["job"], item) == item
            responses.append(
                {
                    "job": item["job"],
                    "status": status,
                    "state": "done",
                    "detail": f"status {status}",
                }
            )
        return responses

    def heartbeat(self, body: dict[str, Any]) -> Any:
        self.heartbeats.append(body["leases"])
        responses = []
        for lease in body["leases"]:
            reason, detail = self.cancels.get(lease, (None, None))
            cancel = reason is not None
            responses.append(
                {
                    "lease": lease,
                    "expires_at": "soon",
                    "cancel": cancel,
                    "reason": reason,
                    "detail": detail,
                }
            )
        return {"leases": responses}

    def release(self, body: dict[str, Any]) -> Any:
        self.released += body["leases"]
        return {"released": body["leases"]}
