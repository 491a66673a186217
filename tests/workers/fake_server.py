"""A server in memory that speaks to the client as the real one does, can be away, and remembers what it heard."""

import itertools
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from counterpoise.client import Client
from tests.workers.jobs import JOB


@dataclass
class FakeServer:
    away: bool = False
    finished: bool = False  # once there are no jobs left
    drained: bool = False
    timeout_s: float | None = None
    heartbeat_s: float = 20.0
    refusals: dict[int, int] = field(default_factory=dict)  # job: the status of its tell
    poison: set[int] = field(default_factory=set)  # tells that break the server
    cancels: dict[str, str] = field(default_factory=dict)  # lease: the reason
    ready: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    told: dict[int, dict[str, Any]] = field(default_factory=dict)
    tells: list[list[int]] = field(default_factory=list)  # jobs of each request
    beats: list[list[str]] = field(default_factory=list)
    patience: list[float] = field(default_factory=list)  # of heartbeats
    released: list[str] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)  # path: what to answer instead
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def client(self) -> Client:
        return Client("http://server", retry_s=0, transport=httpx.MockTransport(self.handle))

    def add(self, count: int = 1, **given: Any) -> None:
        for number in itertools.islice(self.numbers, count):
            job = JOB.model_dump() | {"job": number, "lease": f"{number:032x}", "also": []} | given
            self.ready.append(job | {"timeout_s": self.timeout_s, "heartbeat_s": self.heartbeat_s})

    def handle(self, request: httpx.Request) -> httpx.Response:
        path, body = request.url.path, json.loads(request.content)
        if self.away:
            raise httpx.ConnectError("refused")
        if path in self.statuses:
            return httpx.Response(self.statuses[path])
        with self.lock:
            if path == "/ask":
                answer: Any = self.ask(body)
            elif path == "/tell":
                if self.poison & {item["job"] for item in body}:
                    return httpx.Response(500)
                answer = self.tell(body)
            elif path == "/heartbeat":
                self.beats.append(body["leases"])
                self.patience.append(request.extensions["timeout"]["read"])
                answer = {"leases": [self.alive(lease) for lease in body["leases"]]}
            else:
                self.released += body["leases"]
                answer = {"released": body["leases"]}
        if path == "/ask" and not answer["jobs"]:
            time.sleep(0.02)  # a short long poll
        return httpx.Response(200, json=answer)

    def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(body)
        if self.drained:
            return {"jobs": [], "reason": "drained", "detail": "drained", "retry_after_s": 60.0}
        jobs, self.ready = self.ready[: body["max_jobs"]], self.ready[body["max_jobs"] :]
        if jobs:
            return {"jobs": jobs}
        reason = "finished" if self.finished else "all_leased"
        return {"jobs": [], "reason": reason, "detail": reason, "retry_after_s": 0.02}

    def tell(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.tells.append([item["job"] for item in items])
        answers = []
        for item in items:
            status = self.refusals.get(item["job"], 200)
            if status == 200:
                assert self.told.setdefault(item["job"], item) == item
            answers.append({"job": item["job"], "status": status, "state": "done", "detail": f"says {status}"})
        return answers

    def alive(self, lease: str) -> dict[str, Any]:
        reason = self.cancels.get(lease)
        return {"lease": lease, "expires_at": "soon", "cancel": reason is not None, "reason": reason}
