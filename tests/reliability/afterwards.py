"""What must be true of a house when its studies are finished, whoever was killed before."""

from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import select

from app.store.database import Database
from app.store.tables import attempts, jobs, objectives, sample_values, samples, steps, studies
from app.store.upgrade import upgrade
from tests.e2e.processes import eventually
from tests.e2e.replay import proposals, recorded, replay
from tests.reliability.house import TOLD, House

TELLING_S = 60.0  # a spool that was left behind is found after 30 s


def check(house: House) -> None:
    check_runs(house)
    check_values(house)
    for spec in house.specs:
        check_steps(house, spec)
        check_undisturbed(house.database, spec, house.folder)


def check_runs(house: House) -> None:
    """Every simulation that finished is an attempt with its values; and nothing else is."""
    try:
        eventually(lambda: not house.unrecorded(), "results", TELLING_S)
    except AssertionError:
        assert house.unrecorded() == [], "simulations that finished are not recorded"
    ended = {row.lease: row for row in house.read(select(attempts))}
    where = {row.id: row for row in house.read(select(jobs))}
    names = {row.id: row.name for row in house.read(select(objectives))}
    x = {row.id: row.x for row in house.read(select(samples))}
    runs = {run.lease: run for run in house.runs()}
    assert len(runs) == len(house.runs()), "a lease was evaluated twice"
    told = {lease: attempt for lease, attempt in ended.items() if attempt.outcome in TOLD}
    assert told.keys() <= runs.keys()
    for lease, attempt in told.items():
        run, job = runs[lease], where[attempt.job_id]
        also = (attempt.details or {}).get("also", {})
        assert {run.objective: attempt.value, **also} == run.said
        assert (names[job.objective_id], list(map(float, x[job.sample_id]))) == (run.objective, list(map(float, run.x)))
    assert house.saved <= told.keys()
    lost = runs.keys() - told.keys()
    assert lost <= house.excused
    assert house.spooled() == set()
    outcomes = dict(Counter(attempt.outcome for attempt in ended.values()))
    print(f"{len(runs)} runs, {len(house.saved)} saved in a dead worker's spool, {len(lost)} lost; {outcomes}")  # noqa: T201


def check_values(house: House) -> None:
    """A job has the values of one attempt, the first that told any."""
    names = {(row.study_id, row.name): row.id for row in house.read(select(objectives))}
    where = {row.id: row for row in house.read(select(jobs))}
    runs = {run.lease: run for run in house.runs()}
    expected: list[tuple[int, int, float]] = []
    for attempt in house.read(select(attempts)):
        if attempt.outcome in ("done", "late"):
            job = where[attempt.job_id]
            said = runs[attempt.lease].said
            expected += [(job.sample_id, names[job.study_id, name], value) for name, value in said.items()]
    found = [(row.sample_id, row.objective_id, row.value) for row in house.read(select(sample_values))]
    assert Counter(found) == Counter(expected)


def check_steps(house: House, spec: dict[str, Any]) -> None:
    """Each step happened once, with its batch."""
    (study,) = house.read(select(studies).where(studies.c.name == spec["name"]))
    assert (study.planned_full, study.settled_full) == (spec["budget"], spec["budget"])
    found = house.read(select(steps).where(steps.c.study_id == study.id))
    assert {step.state for step in found} == {"done"}
    size = {"initial": spec["initial_samples"], "search": spec["batch_size"]}
    count = (spec["budget"] - spec["initial_samples"]) // spec["batch_size"]
    assert sorted(step.number for step in found if step.kind == "search") == list(range(1, count + 1))
    assert len({(step.kind, step.objective, step.number) for step in found}) == len(found)
    full = Counter(
        row.step_id for row in house.read(select(samples).where(samples.c.study_id == study.id, samples.c.full))
    )
    assert full == {step.id: size[step.kind] for step in found if step.kind in size}


def check_undisturbed(database: Database, spec: dict[str, Any], folder: Path) -> None:
    """The same order of tells proposes the same, where planners never die and are always in time.

    Those here may be late: a generation of a stream that nobody has planned when search begins is planned no more.
    """
    again = Database(f"sqlite:///{folder}/undisturbed-{spec['name']}.db")
    try:
        upgrade(again)
        replay(again, spec, recorded(database, spec["name"]))
        here, there = proposals(database, spec["name"]), proposals(again)
        planned = {sample[:3] for sample in here}
        wanted = {sample: count for sample, count in there.items() if sample[0] != "stream" or sample[:3] in planned}
        assert here == wanted
        assert set(here.values()) == {1}, "a step proposed a sample twice"
    finally:
        again.close()
