"""SIGKILL at every named point of a tell, an ask, an expiry, a step, an upgrade: it happened wholly, or not at all."""

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from app.planner.planner import plan_one
from app.service.studies.lifecycle import create
from app.service.work.ask import serve_asks
from app.service.work.expire import expire_leases
from app.service.work.tell import settle_tells, tell
from app.store.database import Database
from app.store.tables import attempts, events, jobs, objectives, sample_values, samples, steps, studies, workers
from app.store.upgrade import head, revision, upgrade
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.work import Ask, Job, Tell
from tests.e2e.plate import SPEC, evaluate
from tests.e2e.replay import proposals, recorded, replay
from tests.reliability.elsewhere import Faults, killed
from tests.reliability.old_data import as_the_first_version_wrote_it, write_as_the_first_version
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
    killed(faults, point, serve_asks, lab.database.url, asks, 20.0)
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
    killed(faults, point, expire_leases, lab.database.url)
    assert everything(lab.database) == before
    assert expire_leases(lab.database) == 1
    assert lab.job(job.job)["losses"] == 1
    lab.check_counters()


@pytest.mark.parametrize("before", [None, "0001"])
def test_an_upgrade_that_is_killed_leaves_the_database_as_it_was(
    empty_url: str, faults: Faults, before: str | None
) -> None:
    database = Database(empty_url)
    try:
        if before:
            write_as_the_first_version(database)
        killed(faults, "upgrade.written", upgrade, empty_url)
        assert revision(database) == before
        assert upgrade(database) == (before, head())
        assert not before or as_the_first_version_wrote_it(database)
    finally:
        database.close()


KINDS = ("initial", "stream", "search", "closing")


@pytest.mark.timeout(600)  # on a loaded machine
def test_a_study_whose_steps_and_tells_are_all_killed_is_the_undisturbed_study(
    database: Database, faults: Faults, tmp_path: Path
) -> None:
    """The first step of each kind is killed at every point, and so is each tell that makes another kind due; of the
    others every step and every few tells at one point. The work is then done again by others.
    """
    create(database, parse_specification(SPEC), 60.0)
    killer = Killer(database, faults)
    told = killer.run()
    assert {(kind, point) for kind in KINDS for point in STEP} <= killer.kills.keys()
    assert {(f"tell before {kind}", point) for kind in KINDS[1:] for point in TELL} <= killer.kills.keys()
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
        assert set(proposals(database).values()) == {1}
    finally:
        again.close()


class Killer:
    """Works a study off while its processes are killed."""

    def __init__(self, database: Database, faults: Faults) -> None:
        self.database, self.faults = database, faults
        self.kills: Counter[tuple[str, str]] = Counter()  # what was killed, and where
        self.steps = self.tells = 0
        self.told: list[float] = []

    def run(self) -> list[float]:
        for _ in range(1000):
            planned = self.plan()
            ask = Ask(worker="w", studies=["*"], objectives=["*"], max_jobs=8)
            (got,) = serve_asks(self.database, [ask], 20.0)
            for job in got:
                self.tell(job)
            if not got and not planned:
                return self.told
        raise AssertionError("the study has no end")

    def plan(self) -> bool:
        """Kill a planner, or several one after the other, at the step that has been due longest; then it happens."""
        due = self.due()
        if not due:
            return False
        is_first = due[0] not in {what for what, _ in self.kills}
        points = list(STEP) if is_first else [list(STEP)[self.steps % len(STEP)]]
        self.steps += 1
        for point in points:
            before = self.done()
            killed(self.faults, point, plan_one, self.database.url)
            self.kills[due[0], point] += 1
            assert self.done() == before + ([due[0]] if STEP[point] else [])
            assert STEP[point] or self.due() == due
            # Another planner takes over when the claim is over.
            self.database.write(lambda connection: connection.execute(update(steps).values(claim_expires_at=0.0)))
        assert STEP[points[-1]] or plan_one(self.database)
        return True

    def due(self) -> list[str]:
        return self._kinds("due", steps.c.due_at)

    def done(self) -> list[str]:
        return self._kinds("done", steps.c.done_at)

    def _kinds(self, state: str, since: Any) -> list[str]:
        with self.database.read() as connection:
            query = select(steps.c.kind).where(steps.c.state == state).order_by(since, steps.c.id)
            return list(connection.execute(query).scalars())

    def tell(self, job: Job) -> None:
        value, also = evaluate(job.objective, job.x)
        said = [Tell(job=job.job, lease=job.lease, value=value, also=also, duration_s=1.0)]
        self.told += [value, *also.values()]
        self.tells += 1
        makes_due = self.would_make_due(said)
        if makes_due and f"tell before {makes_due[-1]}" not in {what for what, _ in self.kills}:
            self.tell_at_every_point(said, makes_due)
        elif self.tells % 20 == 0:
            killed(self.faults, list(TELL)[self.tells // 20 % len(TELL)], tell, self.database.url, said)
        assert tell(self.database, said)[0].status == 200  # as a worker does that heard nothing
        assert not makes_due or self.due() == makes_due

    def tell_at_every_point(self, said: list[Tell], makes_due: list[str]) -> None:
        before = self.due()
        for point, happened in TELL.items():
            killed(self.faults, point, tell, self.database.url, said)
            self.kills[f"tell before {makes_due[-1]}", point] += 1
            assert self.due() == (makes_due if happened else before)

    def would_make_due(self, said: list[Tell]) -> list[str]:
        """Which steps are due after this tell, if it makes any due: it is tried, and undone."""

        class Undone(Exception):
            pass

        before = self.due()
        after: list[str] = []

        def attempt(connection: Connection) -> None:
            settle_tells(connection, said)
            query = select(steps.c.kind).where(steps.c.state == "due").order_by(steps.c.due_at, steps.c.id)
            after.extend(connection.execute(query).scalars())
            raise Undone

        with suppress(Undone):
            self.database.write(attempt)
        return after if after != before else []
