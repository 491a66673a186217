"""Studies for the pages: empty, one sample, all failed, partial only, finished, and
with awkward names.

Made through the API's own routes in this process, without a running server.
"""

import math
from collections.abc import Callable
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import text

from app.main import create_app
from app.planner.planner import plan_one
from app.settings import load_settings
from app.store.database import Connection, Database

LOCAL = "http://127.0.0.1:8000"
MARKUP = "<img src=x onerror=alert(1)>"
LARGE = "large"
LARGE_SAMPLES = 50_000
Job = dict[str, Any]
Tell = dict[str, Any]
WING: dict[str, Any] = {
    "variables": [
        {"name": "span", "low": 1.0, "high": 2.0},
        {"name": "ribs", "type": "int", "low": 3, "high": 40},
        {"name": "skin", "low": 0.0001, "high": 0.01, "scale": "log"},
    ],
    "objectives": [
        {"name": "mass", "evaluation_time_s": 0.1, "unit": "kg"},
        {"name": "drag", "evaluation_time_s": 0.4, "unit": "N"},
        {"name": "lift", "direction": "maximize", "same_run_as": "drag"},
    ],
    "budget": 16,
    "initial_samples": 8,
    "batch_size": 2,
    "generations": 2,
    "models": "paper",
    "max_attempts": 1,
    "seed": 1,
}
SHORT = {**WING, "budget": 8}  # no search: its models would take long to fit


def with_limit(stress: float) -> dict[str, Any]:
    constraint = {"name": "stress", "unit": "MPa", "upper": stress}
    return {**SHORT, "constraints": [{**constraint, "same_run_as": "mass"}]}


def evaluate(job: Job) -> Tell:
    x = job["x"]
    if job["objective"] == "mass":
        mass = x["span"] + 0.1 * x["ribs"] + 100 * x["skin"]
        return {"value": mass, "also": dict.fromkeys(job["also"], 100.0 / mass)}
    drag = (x["span"] - 1.6) ** 2 + 1.0 / x["ribs"] + x["skin"]
    return {"value": drag, "also": {"lift": x["span"] * x["ribs"]}}


def fail(job: Job) -> Tell:
    message = f"Traceback: mesh has no elements {MARKUP}"
    return {"failure": {"kind": "error", "message": message}}


def wide(job: Job) -> Tell:
    """Any number of objectives, each with another optimum."""
    position = int(job["objective"].rpartition("-")[2])
    distance = sum((value - position / 20) ** 2 for value in job["x"].values())
    return {"value": math.sqrt(distance)}


class Seeder:
    def __init__(self, client: TestClient, database: Database) -> None:
        self.client = client
        self.database = database

    def create(self, name: str, spec: dict[str, Any]) -> None:
        response = self.client.post("/studies", json={**spec, "name": name})
        assert response.status_code == 201, response.text
        self.plan()

    def plan(self) -> int:
        count = 0
        while plan_one(self.database):
            count += 1
        return count

    def work(
        self,
        study: str,
        result: Callable[[Job], Tell] = evaluate,
        *,
        objectives: tuple[str, ...] = ("*",),
        worker: str = "node1",
        most: int = 256,
    ) -> int:
        """Evaluate jobs in rounds of at most `most`; returns how many of the last
        round.
        """
        body = {
            "worker": worker,
            "studies": [study],
            "objectives": list(objectives),
            "max_jobs": most,
        }
        jobs = self.client.post("/ask", json=body).json()["jobs"]
        tells = [
            {**result(job), "job": job["job"], "lease": job["lease"], "duration_s": 0.2}
            for job in jobs
        ]
        if tells:
            assert self.client.post("/tell", json=tells).status_code == 200
        return len(jobs)

    def finish(self, study: str, result: Callable[[Job], Tell] = evaluate) -> None:
        while self.plan() + self.work(study, result):
            pass


def seed(database_url: str) -> None:
    """Fill a database at the newest schema."""
    app = create_app(load_settings(database_url=database_url))
    database = Database(database_url)
    with TestClient(app, LOCAL) as client:
        seeder = Seeder(client, database)
        seeder.create("wing", {**WING, "notes": f"A wing. {MARKUP}"})
        seeder.work("wing", worker=f"node {MARKUP}", most=3)
        seeder.finish("wing")
        seeder.create("empty", WING)
        for name in ("steered", "watched"):  # for tests that change them
            seeder.create(name, WING)
        seeder.create("one", WING)
        seeder.work("one", most=2)
        seeder.create("failed", SHORT)
        seeder.finish("failed", fail)
        seeder.create("partial", WING)
        seeder.work("partial", objectives=("mass",))
        seeder.create("limited", with_limit(30.0))
        seeder.finish("limited")
        seeder.create("infeasible", with_limit(1.0))
        seeder.finish("infeasible")
        seeder.create(LARGE, WING)
        database.write(enlarge)
    database.close()


def enlarge(connection: Connection) -> None:
    """Copies of one sample with values of their own; for SQLite only."""
    connection.execute(text(COPY_SAMPLES), {"most": LARGE_SAMPLES})
    connection.execute(text(COPY_VALUES))


COPY_SAMPLES = """
    WITH RECURSIVE numbers(n) AS (
        SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :most
    ), first AS (
        SELECT samples.* FROM samples JOIN studies ON studies.id = samples.study_id
        WHERE studies.name = 'large' LIMIT 1
    )
    INSERT INTO samples (study_id, step_id, "full", x, open, created_at)
    SELECT study_id, step_id, 1, x, 0, created_at FROM first, numbers
"""
COPY_VALUES = """
    INSERT INTO sample_values (study_id, seq, sample_id, objective_id, value, at)
    SELECT samples.study_id, 1000 + row_number() OVER (), samples.id, objectives.id,
           abs(random() % 100000) / 100000.0, samples.created_at
    FROM samples JOIN studies ON studies.id = samples.study_id
    JOIN objectives ON objectives.study_id = studies.id
    WHERE studies.name = 'large' AND samples.open = 0
"""


def seed_awkward(database_url: str) -> None:
    """Twenty objectives with long names, and a hundred workers."""
    app = create_app(load_settings(database_url=database_url))
    database = Database(database_url)
    spec = {
        "variables": [{"name": f"x{i}", "low": 0.0, "high": 1.0} for i in range(12)],
        "objectives": [
            {
                "name": f"a-rather-long-name-of-an-objective-{i}",
                "unit": "N/mm²",
                "evaluation_time_s": 1.0,
            }
            for i in range(20)
        ],
        "budget": 40,
        "initial_samples": 30,
        "batch_size": 5,
        "generations": 2,
        "max_attempts": 2,
        "seed": 1,
    }
    with TestClient(app, LOCAL) as client:
        seeder = Seeder(client, database)
        seeder.create("twenty-objectives-with-long-names-in-a-study", spec)
        for number in range(100):
            seeder.work(
                "twenty-objectives-with-long-names-in-a-study",
                fail if number % 30 == 7 else wide,
                worker=f"cluster-node-{number:03}.rack-{number // 20}.example",
                most=3,
            )
    database.close()
