"""A loop of the gest-api around a real server."""

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from gest_api.vocs import VOCS

from counterpoise.adapters.gest import CounterpoiseGenerator, study_of
from counterpoise.client import Client
from counterpoise.wire.work import Ask, Asked, Job, Tell
from tests.e2e.processes import eventually, serving
from tests.project.test_pages import write_files

VOCS_OF_PLATE = VOCS(
    variables={"a": [0.0, 1.0], "b": [1.0, 2.0]},
    objectives={"mass": "MINIMIZE", "lift": "MAXIMIZE"},
    constants={"k": 3.0},
)


def test_vocs_become_a_specification() -> None:
    vocs = VOCS(
        variables={"a": [0.0, 1.0]},
        objectives={"mass": "MINIMIZE", "lift": "MAXIMIZE"},
        constraints={
            "stress": ["LESS_THAN", 2.0],
            "gap": ["GREATER_THAN", 1.0],
            "mode": ["BOUNDS", 1.0, 4.0],
        },
    )
    assert study_of(vocs, "plate", 30, seed=1) == {
        "name": "plate",
        "variables": [{"name": "a", "low": 0.0, "high": 1.0}],
        "objectives": [
            {"name": "mass", "direction": "minimize"},
            {"name": "lift", "direction": "maximize"},
        ],
        "constraints": [
            {"name": "stress", "upper": 2.0},
            {"name": "gap", "lower": 1.0},
            {"name": "mode", "lower": 1.0, "upper": 4.0},
        ],
        "budget": 30,
        "seed": 1,
    }


class ServerOfOnePoint:
    """Leases the jobs of sample 7 in the order given, one per ask; records tells."""

    def __init__(self, *order: str) -> None:
        self.ready = list(order)
        self.told: list[tuple[str, float | None]] = []

    def create_study(self, document: dict[str, Any]) -> Any:
        return SimpleNamespace(name=document["name"])

    def ask(self, ask: Ask) -> Asked:
        if not self.ready or self.ready[0] not in ask.objectives:
            return Asked(jobs=[])
        name = self.ready.pop(0)
        return Asked(jobs=[job_of(name)])

    def tell(self, tell: Tell) -> None:
        self.told.append((NAMES[tell.job - 1], tell.value))

    def release(self, leases: list[str]) -> None:
        self.released = leases


NAMES = ["mass", "lift"]


def job_of(name: str) -> Job:
    number = NAMES.index(name) + 1
    return Job(
        job=number,
        lease=f"{number:032x}",
        study="plate",
        sample=7,
        objective=name,
        also=[],
        x={"a": 0.25, "b": 1.5},
        attempt=1,
        seed=1,
        expires_at="2030-01-01T00:00:00Z",
        heartbeat_s=60.0,
        timeout_s=None,
    )


def generator_of(server: ServerOfOnePoint) -> CounterpoiseGenerator:
    return CounterpoiseGenerator(VOCS_OF_PLATE, cast(Client, server), "plate", 5)


def test_a_value_given_before_its_job_is_leased_is_told_with_it() -> None:
    server = ServerOfOnePoint("lift", "mass")
    with generator_of(server) as generator:
        [point] = generator.suggest()
        assert generator.wanted(point) == ["lift"]
        generator.ingest([{**point, "mass": 0.25, "lift": 1.5}])
        assert server.told == [("lift", 1.5)]
        with pytest.raises(ValueError, match="0 points"):
            generator.suggest()
    assert server.told == [("lift", 1.5), ("mass", 0.25)]


def test_an_output_that_is_due_later_is_suggested_again() -> None:
    server = ServerOfOnePoint("lift", "mass")
    with generator_of(server) as generator:
        [point] = generator.suggest()
        generator.ingest([{**point, "lift": 1.5}])
        [again] = generator.suggest()
        assert again == point
        assert generator.wanted(again) == ["mass"]
        generator.ingest([{**again, "mass": 0.25}])
    assert server.told == [("lift", 1.5), ("mass", 0.25)]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_values_that_arrive_apart_and_the_loop_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files("adapters/gest.md", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    page = importlib.import_module("gest_loop")
    with serving(f"sqlite:///{tmp_path / 'g.db'}") as (url, _), Client(url) as client:
        check_values_apart(client)
        page.loop(client, 5)
        assert client.study("plate").evaluated_full == 5
        for sample in client.samples("plate", full=True):
            a, b = sample.x["a"], sample.x["b"]
            assert sample.values == {"mass": a + b, "lift": a * b}


def check_values_apart(client: Client) -> None:
    with CounterpoiseGenerator(
        VOCS_OF_PLATE, client, "apart", 5, initial_samples=4, seed=1, strategy="random"
    ) as generator:
        eventually(lambda: list(client.samples("apart")), "the initial design")
        points = generator.suggest(3)
        assert len(points) == 3
        assert all(point["k"] == 3.0 for point in points)
        for point in points:
            assert generator.wanted(point) == ["mass", "lift"]
            generator.ingest([{**point, "mass": point["a"]}])
            assert generator.wanted(point) == ["lift"]
        generator.ingest([{**point, "lift": 1.0} for point in points])
        known = [s for s in client.samples("apart", full=True) if len(s.values) == 2]
        assert {sample.sample for sample in known} == {p["_id"] for p in points}
        assert all(s.values == {"mass": s.x["a"], "lift": 1.0} for s in known)
        with pytest.raises(ValueError, match="no suggested point"):
            generator.ingest([{"_id": 10**9, "mass": 1.0}])
