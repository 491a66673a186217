"""Real processes: no slow run is started for a sample that a cheap run has ruled out."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.store.database import Database
from app.store.upgrade import upgrade
from tests.e2e.processes import COUNTERPOISE, eventually, planning, running, serving

SPEC: dict[str, Any] = {
    "name": "duct",
    "variables": [{"name": "a", "low": 0.0, "high": 1.0}],
    "objectives": [{"name": "mass"}, {"name": "flow"}],
    "ratios": {"mass": 3},
    "initial_samples": 6,
    "budget": 10,
    "batch_size": 2,
    "generations": 2,
    "models": "paper",
    "cheap_first": True,
    "seed": 3,
}
SIMULATIONS = """
import os
import time
from pathlib import Path
from counterpoise import Infeasible

def mass(x):
    if x["a"] > 0.5:
        raise Infeasible("too wide")
    return x["a"]

def flow(x):
    with Path(os.environ["FLOW_LOG"]).open("a") as log:
        log.write(f"{x['a']!r}\\n")
    time.sleep(0.02)
    return (x["a"] - 1.0) ** 2
"""


@pytest.mark.slow
def test_no_slow_run_is_started_for_a_sample_that_was_ruled_out(tmp_path: Path) -> None:
    (tmp_path / "duct.py").write_text(SIMULATIONS)
    log = tmp_path / "flow.log"
    url = f"sqlite:///{tmp_path}/study.db"
    database = Database(url)
    upgrade(database)
    database.close()
    with ExitStack() as stack:
        address, _ = stack.enter_context(serving(url, "--no-planner"))
        stack.enter_context(planning(url))
        client = stack.enter_context(httpx.Client(base_url=address, timeout=30))
        assert client.post("/studies", json=SPEC).status_code == 201
        worker = (COUNTERPOISE, "worker", "--study", "duct", "--url", address)
        for name, slots in (("mass", "1"), ("flow", "4")):
            stack.enter_context(
                running(
                    *worker,
                    *("--objective", f"{name}=duct:{name}", "--slots", slots),
                    *("--name", name, "--spool", str(tmp_path / name)),
                    PYTHONPATH=str(tmp_path),
                    FLOW_LOG=str(log),
                )
            )

        def view() -> dict[str, Any]:
            return client.get("/studies/duct").json()  # type: ignore[no-any-return]

        eventually(lambda: view()["phase"] == "finished", "the end of the study")
        seen = view()
    started = [float(line) for line in log.read_text().splitlines()]
    assert len(started) == SPEC["budget"]
    assert max(started) <= 0.5
    assert seen["withdrawn"] >= 3  # of the initial samples alone
    mass, flow = seen["objectives"]
    assert mass["infeasible"] >= seen["withdrawn"]
    assert (mass["failed"], flow["failed"], flow["infeasible"]) == (0, 0, 0)
