"""A whole study with real server, planner and worker processes whose objectives take
different times.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import func, select

from app.store.database import Database
from app.store.tables import sample_values, samples, steps
from app.store.upgrade import upgrade
from benchmarks.service.postgresql import PostgreSQL
from tests.e2e.plate_study import SPEC, TAKES_S, evaluate
from tests.e2e.processes import (
    COUNTERPOISE,
    environment,
    eventually,
    planning,
    serving,
    working,
)
from tests.e2e.replay import proposals, recording, replay


@dataclass(frozen=True)
class Finished:
    """What a finished study left behind: its database, and its pages."""

    url: str
    database: Database
    view: dict[str, Any]
    samples: list[dict[str, Any]]
    jobs: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    front: list[dict[str, Any]]


@pytest.fixture(
    scope="module",
    params=[pytest.param("sqlite", marks=pytest.mark.slow), "postgresql"],
)
def finished(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Finished]:
    """One run per database; every test looks at it from another side."""
    folder = tmp_path_factory.mktemp("study")
    url = f"sqlite:///{folder}/study.db"
    if request.param == "postgresql":
        server: PostgreSQL = request.getfixturevalue("postgresql")
        url = server.create()
    database = Database(url)
    upgrade(database)
    with ExitStack() as stack:
        stack.callback(database.close)
        address, _ = stack.enter_context(serving(url, "--no-planner"))
        stack.enter_context(planning(url))
        client = stack.enter_context(httpx.Client(base_url=address, timeout=30))
        assert client.post("/studies", json=SPEC).status_code == 201
        crew = [
            stack.enter_context(working(address, "plate", objective))
            for objective in TAKES_S
        ]
        eventually(
            lambda: client.get("/studies/plate").json()["phase"] == "finished",
            "the study's end",
        )
        for worker in crew:
            assert worker.wait(60) == 0
        pages = {
            name: read_all(client, name)
            for name in ("samples", "jobs", "steps", "front")
        }
        yield Finished(url, database, client.get("/studies/plate").json(), **pages)


def read_all(client: httpx.Client, what: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = (
            client.get(f"/studies/plate/{what}", params={"limit": 50, **cursor})
            .raise_for_status()
            .json()
        )
        items += page["items"]
        if page["next"] is None:
            return items
        cursor = {"cursor": page["next"]}


def test_the_study_finishes_at_its_budget(finished: Finished) -> None:
    view = finished.view
    assert (view["phase"], view["evaluated_full"], view["planned_full"]) == (
        "finished",
        12,
        12,
    )
    assert view["step"] == 3  # 6 initial ones, then 2 a step
    assert view["health"] == []
    assert view["hypervolume"]["value"] > 0
    assert {step["state"] for step in finished.steps} == {"done"}
    assert [step["number"] for step in finished.steps if step["kind"] == "search"] == [
        1,
        2,
        3,
    ]


def test_cheap_only_and_full_samples_both_exist(finished: Finished) -> None:
    full = [sample for sample in finished.samples if sample["full"]]
    assert len(full) == 12
    assert all(
        set(sample["values"]) == {"mass", "drag", "lift", "stiffness"}
        for sample in full
    )
    extra = [sample for sample in finished.samples if not sample["full"]]
    assert any(sample["values"] for sample in extra)
    kinds = {sample["step"].partition(":")[0] for sample in extra}
    assert kinds == {"stream", "search"}
    points = {
        sample["sample"]: tuple(sample["x"].values()) for sample in finished.samples
    }
    wanted = [(job["objective"], points[job["sample"]]) for job in finished.jobs]
    assert len(set(wanted)) == len(wanted)  # nothing is evaluated twice


def test_expensive_workers_wait_for_no_cheap_only_job(finished: Finished) -> None:
    """A step is due with the last value of the batch before, whatever cheap-only jobs
    are open then.
    """
    assert not any(
        job["cheap_only"] for job in finished.jobs if job["objective"] == "stiffness"
    )
    with finished.database.read() as connection:
        searches = select(steps.c.number, steps.c.due_seq).where(
            steps.c.kind == "search"
        )
        dues = {row.number: row.due_seq for row in connection.execute(searches)}
        query = (
            select(steps.c.number, func.max(sample_values.c.seq).label("last"))
            .join(samples, samples.c.id == sample_values.c.sample_id)
            .join(steps, steps.c.id == samples.c.step_id)
            .where(samples.c.full, steps.c.kind.in_(("initial", "search")))
            .group_by(steps.c.number)
        )
        settled = {row.number: row.last for row in connection.execute(query)}
    assert {number: settled[number - 1] for number in dues} == dues


def test_every_value_is_in_the_users_terms(finished: Finished) -> None:
    for sample in finished.samples:
        x = sample["x"]
        assert 1.5 <= x["span"] <= 4.0
        assert isinstance(x["ribs"], int)
        assert 3 <= x["ribs"] <= 12
        assert 1e-4 <= x["skin"] <= 1e-2
        for objective in TAKES_S:
            value, also = evaluate(objective, x)
            for name, said in {objective: value, **also}.items():
                assert sample["values"].get(name, said) == said
    design = [
        sample["x"]["skin"]
        for sample in finished.samples
        if sample["step"] == "initial"
    ]
    # Half of a log scale; of a linear one it would be a tenth
    assert sum(skin < 1e-3 for skin in design) == 3


def test_the_front_is_nondominated_in_the_users_directions(finished: Finished) -> None:
    signs = np.array([1, 1, -1, -1])  # lift and stiffness are maximised
    names = ("mass", "drag", "lift", "stiffness")

    def points(items: list[dict[str, Any]]) -> Any:
        values = itemgetter(*names)
        return np.array([values(item["values"]) for item in items]) * signs

    everything = [sample for sample in finished.samples if sample["full"]]
    F = points(everything)
    expected = set()
    for sample, f in zip(everything, F, strict=True):
        dominating = (f >= F).all(axis=1) & (f > F).any(axis=1)
        if not dominating.any():
            expected.add(sample["sample"])
    assert {item["sample"] for item in finished.front} == expected
    reference = finished.view["hypervolume"]["reference_point"]
    design = points([sample for sample in everything if sample["step"] == "initial"])
    assert (
        np.array([reference[name] for name in names]) * signs > design.max(axis=0)
    ).all()


def test_every_step_says_what_it_read_and_how_long_it_took(finished: Finished) -> None:
    for step in finished.steps:
        assert step["record"]["read_until"] == step["due_seq"]
        assert step["record"]["seed"][0] == 7
        assert step["record"]["versions"]["numpy"] == np.__version__
        if step["kind"] == "search":
            assert set(step["record"]["timings_s"]) == {
                "read",
                "fit",
                "search",
                "select",
            }
            assert len(step["record"]["models"]) == 4


def test_the_recorded_order_of_tells_gives_the_identical_proposals(
    finished: Finished, tmp_path: Path
) -> None:
    again = Database(f"sqlite:///{tmp_path}/again.db")
    try:
        upgrade(again)
        replay(again, SPEC, recording(finished.database))
        assert proposals(again) == proposals(finished.database)
    finally:
        again.close()


def test_every_step_is_the_same_again_in_another_process(finished: Finished) -> None:
    """Planned by a planner with its fitters, each a process; replayed in one."""
    command = [
        str(COUNTERPOISE),
        "replay",
        "plate",
        "--all",
        "--json",
        "--database-url",
        finished.url,
    ]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)["steps"]
    assert {step["step"] for step in found} == {step["step"] for step in finished.steps}
    # A proposal that is a sample of another step makes no new one
    joined = [
        join for step in finished.steps for join in step["record"].get("joined", [])
    ]
    proposed = sum(step["samples"] for step in found)
    assert proposed == len(finished.samples) + len(joined)
    assert all(step["versions"] == {} for step in found)
