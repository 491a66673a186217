"""A welded beam with limits, a requirement and a category, through the HTTP API alone."""

import math
from typing import Any

import moocore
import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.planner.planner import plan_one
from app.service.planning.replay import replay
from app.store.database import Database

LOAD, LENGTH = 6000.0, 14.0  # lb, in
SHEAR = {"welded": 13_600.0, "brazed": 9_000.0}  # psi, of the joint
SPEC: dict[str, Any] = {
    "name": "beam",
    "variables": [
        {"name": "h", "low": 0.125, "high": 5.0},
        {"name": "l", "low": 0.1, "high": 10.0},
        {"name": "t", "low": 0.1, "high": 10.0},
        {"name": "b", "low": 0.125, "high": 5.0},
        {"name": "joint", "type": "categorical", "choices": ["welded", "brazed"]},
    ],
    "requirements": ["h <= b"],
    "objectives": [
        {"name": "cost", "evaluation_time_s": 1},
        {"name": "deflection", "evaluation_time_s": 5, "unit": "in"},
    ],
    "constraints": [
        {"name": "buckling", "lower": LOAD, "unit": "lb", "same_run_as": "cost"},
        {"name": "bending", "upper": 3e4, "unit": "psi", "evaluation_time_s": 1},
        {"name": "shear", "upper": 1.0, "same_run_as": "deflection"},
    ],
    "budget": 24,
    "initial_samples": 15,
    "generations": 10,
    "seed": 3,
}
NAMES = ("cost", "deflection", "buckling", "bending", "shear")


def beam(x: dict[str, Any]) -> dict[str, float]:
    """After Deb (1999); shear as a share of what the joint bears."""
    h, length, t, b = (x[name] for name in "hltb")
    price = 1.0 if x["joint"] == "welded" else 0.8
    area = math.sqrt(0.25 * (length**2 + (h + t) ** 2))
    inertia = 2.0 * 0.707 * h * length * (length**2 / 12.0 + 0.25 * (h + t) ** 2)
    primary = LOAD / (math.sqrt(2.0) * h * length)
    secondary = LOAD * (LENGTH + 0.5 * length) * area / inertia
    tau = primary**2 + secondary**2 + length * primary * secondary / area
    return {
        "cost": price * 1.10471 * h**2 * length + 0.04811 * t * b * (LENGTH + length),
        "deflection": 2.1952 / (t**3 * b),
        "buckling": 64_746.022 * (1.0 - 0.0282346 * t) * t * b**3,
        "bending": 504_000.0 / (t**2 * b),
        "shear": math.sqrt(tau) / SHEAR[x["joint"]],
    }


def is_feasible(values: dict[str, float]) -> bool:
    return (
        values["buckling"] >= LOAD
        and values["bending"] <= 3e4
        and values["shear"] <= 1.0
    )


def run(client: TestClient, database: Database, spec: dict[str, Any]) -> dict[str, Any]:
    """Ask, evaluate, tell and plan until the study is finished."""
    assert client.post("/studies", json=spec).status_code == 201
    ask = {"worker": "w", "studies": [spec["name"]], "objectives": ["*"]}
    while True:
        planned = plan_one(database)
        jobs = client.post("/ask", json={**ask, "max_jobs": 16}).json()["jobs"]
        told = []
        for job in jobs:
            values = beam(job["x"])
            also = {name: values[name] for name in job["also"]}
            told.append(
                {
                    "job": job["job"],
                    "lease": job["lease"],
                    "value": values[job["objective"]],
                    "also": also,
                }
            )
        if told:
            assert client.post("/tell", json=told).status_code == 200
        if not jobs and not planned:
            view: dict[str, Any] = client.get(f"/studies/{spec['name']}").json()
            return view


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_welded_beam(client: TestClient, database: Database) -> None:
    view = run(client, database, SPEC)
    assert (view["phase"], view["ending"]) == ("finished", "budget_used")
    assert [output["name"] for output in view["constraints"]] == list(NAMES[2:])
    page = client.get("/studies/beam/samples?full=true&limit=1000").json()
    samples = page["items"]
    assert all(each["x"]["h"] <= each["x"]["b"] for each in samples)
    search = [each for each in samples if each["step"].startswith("search")]
    feasible = [each for each in search if is_feasible(beam(each["x"]))]
    assert len(feasible) > 0.5 * len(search)
    # What a cheap run ruled out was not run any further, and gave its place back
    withdrawn = [each for each in samples if each["withdrawn"]]
    assert view["withdrawn"] == len(withdrawn) > 0
    assert all("deflection" not in each["values"] for each in withdrawn)
    assert all(each["infeasible"] for each in withdrawn)
    # The front and its hypervolume, computed here again
    complete = [each for each in samples if len(each["values"]) == len(NAMES)]
    kept = [each for each in complete if is_feasible(each["values"])]
    assert view["feasible"] == len(kept)
    F = np.array([[each["values"][name] for name in NAMES[:2]] for each in kept])
    best = moocore.is_nondominated(F, keep_weakly=True)
    front = client.get("/studies/beam/front").json()
    numbers = [
        each["sample"] for each, is_best in zip(kept, best, strict=True) if is_best
    ]
    assert [item["sample"] for item in front["items"]] == numbers
    assert all(set(item["values"]) == set(NAMES) for item in front["items"])
    reference = [view["hypervolume"]["reference_point"][name] for name in NAMES[:2]]
    volume = moocore.hypervolume(F, ref=reference)
    assert view["hypervolume"]["value"] == pytest.approx(volume)
    assert all(again.equal for again in replay(database, "beam", None))
    for form, kind in (("csv", "text/csv"), ("json", "application/json")):
        _check_round_trip(client, form, kind, front)


def _check_round_trip(
    client: TestClient, form: str, kind: str, front: dict[str, Any]
) -> None:
    """An export imported into a new study gives the same front."""
    content = client.get(f"/studies/beam/export/samples?format={form}").content
    copy = {**SPEC, "name": f"copy-{form}"}
    assert client.post("/studies", json=copy).status_code == 201
    path = f"/studies/copy-{form}/import"
    answer = client.post(path, content=content, headers={"content-type": kind})
    assert answer.status_code == 200, answer.text
    again = client.get(f"/studies/copy-{form}/front").json()["items"]
    points = [[(item["x"], item["values"]) for item in front["items"]]]
    points.append([(item["x"], item["values"]) for item in again])
    assert points[0] == points[1]
