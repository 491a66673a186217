"""A loop of the gest-api around a real server."""

from pathlib import Path

import pytest
from gest_api.vocs import VOCS

from counterpoise.adapters.gest import CounterpoiseGenerator, study_of
from counterpoise.client import Client
from tests.e2e.processes import eventually, serving

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


@pytest.mark.timeout(900)
def test_a_loop_with_values_that_arrive_apart(tmp_path: Path) -> None:
    with (
        serving(f"sqlite:///{tmp_path / 'g.db'}") as (url, _),
        Client(url) as client,
        CounterpoiseGenerator(
            VOCS_OF_PLATE, client, "plate", 5, initial_samples=4, seed=1
        ) as generator,
    ):
        eventually(lambda: list(client.samples("plate")), "the initial design")
        points = generator.suggest(3)
        assert len(points) == 3
        assert all(point["k"] == 3.0 for point in points)
        for point in points:
            assert generator.wanted(point) == ["mass", "lift"]
            generator.ingest([{**point, "mass": point["a"]}])
            assert generator.wanted(point) == ["lift"]
        generator.ingest([{**point, "lift": 1.0} for point in points])
        known = [s for s in client.samples("plate", full=True) if len(s.values) == 2]
        assert {sample.sample for sample in known} == {p["_id"] for p in points}
        assert all(s.values == {"mass": s.x["a"], "lift": 1.0} for s in known)
        with pytest.raises(ValueError, match="no suggested point"):
            generator.ingest([{"_id": 10**9, "mass": 1.0}])
        while client.study("plate").phase != "finished":
            try:
                points = generator.suggest()
            except ValueError:
                continue  # finished meanwhile, or still planning
            generator.ingest([{**p, "mass": p["a"], "lift": p["b"]} for p in points])
        assert client.study("plate").evaluated_full == 5
