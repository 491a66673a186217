"""SIGKILL at every named point of a tell, an ask, an expiry, a step, an upgrade: it happened wholly, or not at all."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from app.planner import plan_one
from app.service.ask import serve
from app.service.expire import expire
from app.service.studies import create
from app.service.tell import tell
from app.store.database import Database
from app.store.tables import attempts, events, jobs, objectives, sample_values, samples, steps, studies, workers
from app.store.upgrade import head, revision, upgrade
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.work import Ask, Job, Tell
from tests.e2e.plate import SPEC, evaluate
from tests.e2e.replay import proposals, recorded, replay
from tests.reliability.elsewhere import Faults, killed
from tests.reliability.test_races import let_run_out
from tests.service.lab import Lab

TABLES = (studies, objectives, steps, samples, jobs, attempts, sample_values, events, workers)
TELL = {"tell.begun": False, "tell.written": False, "tell.committed": True}  # had it happened by then?
STEP = {
    "claim.written": False,
    "step.claimed": False,
    "step.computed": False,
    "step.written": False,
    "step.committed": True,
}


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database, generations=1, batch_size=2)
    lab.plan()
    return lab


def everything(database: Database) -> dict[str, list[Any]]:
    with database.read() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in TABLES
        }


@pytest.mark.parametrize(("point", "happened"), TELL.items())
def test_a_tell_that_is_killed_is_recorded_wholly_or_not_at_all(
    lab: Lab, faults: Faults, point: str, happened: bool
) -> None:
    (job,) = lab.ask("crash")
    before = everything(lab.database)
    killed(faults, point, tell, lab.database.url, [lab.said(job, 1.0)])
    assert (lab.job(job.job)["state"] == "done") == happened
    assert (everything(lab.database) == before) == (not happened)
    lab.check_counters()
    assert (lab.tell(job, 1.0).status, lab.tell(job, 1.0).status) == (200, 200)  # as a worker does that heard nothing
    assert lab.values() == [(1.0, None)]
    assert [row["outcome"] for row in lab.rows(attempts)] == ["done"]
    lab.check_counters()


@pytest.mark.parametrize(("point", "happened"), [("ask.written", False), ("ask.committed", True)])
def test_a_job_whose_ask_is_killed_is_free_or_returns(lab: Lab, faults: Faults, point: str, happened: bool) -> None:
    before = everything(lab.database)
    asks = [Ask(worker="killed", studies=["wing"], objectives=["crash"])]
    killed(faults, point, serve, lab.database.url, asks, 20.0)
    assert (everything(lab.database) == before) == (not happened)
    lab.check_counters()
    if happened:
        assert lab.expire() == 1
        lab.ripen()
    assert len(lab.ask("crash", most=4)) == 4
    lab.check_counters()


@pytest.mark.parametrize("point", ["expire.found", "expire.written"])
def test_an_expiry_that_is_killed_changes_nothing(lab: Lab, faults: Faults, point: str) -> None:
    (job,) = lab.ask("crash")
    let_run_out(lab, job)
    before = everything(lab.database)
    killed(faults, point, expire, lab.database.url)
    assert everything(lab.database) == before
    assert expire(lab.database) == 1
    assert lab.job(job.job)["losses"] == 1
    lab.check_counters()


def test_an_upgrade_that_is_killed_leaves_the_database_as_it_was(empty_url: str, faults: Faults) -> None:
    database = Database(empty_url)
    try:
        killed(faults, "upgrade.written", upgrade, empty_url)
        assert revision(database) is None
        assert upgrade(database) == (None, head())
    finally:
        database.close()


@pytest.mark.timeout(600)  # on a loaded machine
def test_a_study_whose_steps_and_tells_are_all_killed_is_the_undisturbed_study(
    database: Database, faults: Faults, tmp_path: Path
) -> None:
    """Each step is killed at another point, and every few tells one; the work is then done again by others."""
    create(database, parse_specification(SPEC), 60.0)
    told = Killer(database, faults).run()
    with database.read() as connection:
        (study,) = connection.execute(select(studies)).all()
        found = connection.execute(select(steps.c.kind, steps.c.objective, steps.c.number, steps.c.state)).all()
        values = connection.execute(select(sample_values.c.value)).scalars().all()
        ended = connection.execute(select(attempts.c.outcome)).scalars().all()
    assert (study.phase, study.settled_full) == ("finished", SPEC["budget"])
    assert {step.state for step in found} == {"done"}
    assert len({step[:3] for step in found}) == len(found)
    assert sorted(value for value in values if value is not None) == sorted(told)
    assert set(ended) == {"done"}
    again = Database(f"sqlite:///{tmp_path}/undisturbed.db")
    try:
        upgrade(again)
        replay(again, SPEC, recorded(database))
        assert proposals(again) == proposals(database)
    finally:
        again.close()


class Killer:
    """Works a study off while its processes are killed."""

    def __init__(self, database: Database, faults: Faults) -> None:
        self.database, self.faults = database, faults
        self.steps = self.tells = 0
        self.told: list[float] = []

    def run(self) -> list[float]:
        for _ in range(1000):
            planned = self.plan()
            ask = Ask(worker="w", studies=["*"], objectives=["*"], max_jobs=8)
            (got,) = serve(self.database, [ask], 20.0)
            for job in got:
                self.tell(job)
            if not got and not planned:
                return self.told
        raise AssertionError("the study has no end")

    def plan(self) -> bool:
        if not self.is_due():
            return False
        point = list(STEP)[self.steps % len(STEP)]
        self.steps += 1
        before = self.done()
        killed(self.faults, point, plan_one, self.database.url)
        assert self.done() == before + STEP[point]
        if not STEP[point]:  # another planner takes over when the claim is over
            self.database.write(lambda connection: connection.execute(update(steps).values(claim_expires_at=0.0)))
            assert plan_one(self.database)
        return True

    def is_due(self) -> bool:
        with self.database.read() as connection:
            return connection.execute(select(steps.c.id).where(steps.c.state == "due")).first() is not None

    def done(self) -> int:
        with self.database.read() as connection:
            return len(connection.execute(select(steps.c.id).where(steps.c.state == "done")).all())

    def tell(self, job: Job) -> None:
        value, also = evaluate(job.objective, job.x)
        said = [Tell(job=job.job, lease=job.lease, value=value, also=also, duration_s=1.0)]
        self.told += [value, *also.values()]
        self.tells += 1
        if self.tells % 7 == 0:
            killed(self.faults, list(TELL)[self.tells // 7 % len(TELL)], tell, self.database.url, said)
        assert tell(self.database, said)[0].status == 200
