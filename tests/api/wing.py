"""A small study over HTTP: `mass` is cheap, `drag` is not and brings `lift` along."""

from dataclasses import dataclass, field
from typing import Any

from fastapi.testclient import TestClient
from httpx2 import Response

from app.planner.planner import plan_one
from app.store.database import Database

SPEC: dict[str, Any] = {
    "name": "wing",
    "variables": [
        {"name": "span", "low": 1.0, "high": 2.0},
        {"name": "ribs", "type": "int", "low": 3, "high": 40},
    ],
    "objectives": [
        {"name": "mass", "evaluation_time_s": 0.1},
        {"name": "drag", "evaluation_time_s": 0.2},
        {"name": "lift", "direction": "maximize", "same_run_as": "drag"},
    ],
    "budget": 6,
    "initial_samples": 4,
    "batch_size": 2,
    "generations": 2,
    "lease_s": 60,
    "max_attempts": 2,
    "seed": 1,
}
NEVER_ISSUED = "0" * 32
LOCAL = "http://127.0.0.1:8000"  # without tokens a server answers this machine only


@dataclass
class Wing:
    client: TestClient
    database: Database
    spec: dict[str, Any] = field(default_factory=lambda: dict(SPEC))

    def plan(self) -> int:
        """Run all steps that are due; answers how many."""
        count = 0
        while plan_one(self.database):
            count += 1
        return count

    def ask(self, *objectives: str, max_jobs: int = 1, worker: str = "w") -> dict[str, Any]:
        body = {"worker": worker, "studies": ["wing"], "objectives": list(objectives) or ["*"], "max_jobs": max_jobs}
        answer = self.client.post("/ask", json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def job(self, *objectives: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(*objectives)["jobs"][0]
        return found

    def tell(self, job: dict[str, Any], **said: Any) -> Response:
        return self.client.post("/tell", json={"job": job["job"], "lease": job["lease"], **said})

    def work(self, *objectives: str) -> int:
        """Evaluate all that is ready; answers how many jobs."""
        count = 0
        while jobs := self.ask(*objectives, max_jobs=256)["jobs"]:
            told = self.client.post("/tell", json=[{**evaluate(job), "duration_s": 0.1} for job in jobs])
            assert [one["status"] for one in told.json()] == [200] * len(jobs)
            count += len(jobs)
        return count

    def finish(self) -> None:
        while self.plan() + self.work():
            pass
        assert self.get("")["phase"] == "finished"

    def get(self, path: str, **query: Any) -> Any:
        answer = self.client.get(f"/studies/wing{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **body: Any) -> Response:
        return self.client.post(f"/studies/wing{path}", json=body or None)


def evaluate(job: dict[str, Any]) -> dict[str, Any]:
    span, ribs = job["x"]["span"], job["x"]["ribs"]
    said: dict[str, Any] = {"job": job["job"], "lease": job["lease"]}
    if job["objective"] == "mass":
        return {**said, "value": span + 0.1 * ribs}
    return {**said, "value": (span - 1.6) ** 2 + 1.0 / ribs, "also": {"lift": span * ribs}}


def check_problem(answer: Response, status: int, slug: str) -> dict[str, Any]:
    """An RFC 9457 problem of this type; answers its body."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["type"] == f"urn:counterpoise:problem:{slug}"
    assert body["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]
    assert body["title"]
    assert body["detail"]
    return body
