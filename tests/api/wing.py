"""A small study over HTTP: `mass` is cheap; `drag` is expensive, and its runs also give
`lift`.
"""

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
    "models": "paper",  # they fit faster
    "seed": 1,
}
NEVER_ISSUED = "0" * 32
# A server without tokens refuses requests for other hosts
LOCAL = "http://127.0.0.1:8000"


@dataclass
class Wing:
    client: TestClient
    database: Database
    spec: dict[str, Any] = field(default_factory=lambda: dict(SPEC))

    def plan(self) -> int:
        """Execute all due steps; returns their number."""
        count = 0
        while plan_one(self.database):
            count += 1
        return count

    def ask(
        self, *objectives: str, max_jobs: int = 1, worker: str = "w"
    ) -> dict[str, Any]:
        body = {
            "worker": worker,
            "studies": ["wing"],
            "objectives": list(objectives) or ["*"],
            "max_jobs": max_jobs,
        }
        response = self.client.post("/ask", json=body)
        assert response.status_code == 200, response.text
        asked: dict[str, Any] = response.json()
        return asked

    def job(self, *objectives: str) -> dict[str, Any]:
        job: dict[str, Any] = self.ask(*objectives)["jobs"][0]
        return job

    def tell(self, job: dict[str, Any], **result: Any) -> Response:
        return self.client.post(
            "/tell", json={"job": job["job"], "lease": job["lease"], **result}
        )

    def work(self, *objectives: str) -> int:
        """Evaluate all ready jobs; returns their number."""
        count = 0
        while jobs := self.ask(*objectives, max_jobs=256)["jobs"]:
            tells = [{**evaluate(job), "duration_s": 0.1} for job in jobs]
            results = self.client.post("/tell", json=tells).json()
            assert [result["status"] for result in results] == [200] * len(jobs)
            count += len(jobs)
        return count

    def finish(self) -> None:
        while self.plan() + self.work():
            pass
        assert self.get("")["phase"] == "finished"

    def get(self, path: str, **query: Any) -> Any:
        response = self.client.get(f"/studies/wing{path}", params=query)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, **body: Any) -> Response:
        return self.client.post(f"/studies/wing{path}", json=body or None)


def evaluate(job: dict[str, Any]) -> dict[str, Any]:
    """The tell of a job."""
    span, ribs = job["x"]["span"], job["x"]["ribs"]
    tell: dict[str, Any] = {"job": job["job"], "lease": job["lease"]}
    if job["objective"] == "mass":
        return {**tell, "value": span + 0.1 * ribs}
    drag = (span - 1.6) ** 2 + 1.0 / ribs
    return {**tell, "value": drag, "also": {"lift": span * ribs}}


def check_problem(response: Response, status: int, slug: str) -> dict[str, Any]:
    """Check that a response is an RFC 9457 problem of this type; returns its body."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["type"] == f"urn:counterpoise:problem:{slug}"
    assert problem["status"] == status
    assert problem["request_id"] == response.headers["x-request-id"]
    assert problem["title"]
    assert problem["detail"]
    return problem
