"""SIGKILL at every named point of a tell, an ask, an expiry and a step: it happens
completely or not at all.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Connection, select

from app.planner.planner import plan_one
from app.service.studies.lifecycle import create
from app.service.work.ask import serve_asks
from app.service.work.expire import expire_leases
from app.service.work.tell import settle_tells, tell
from app.store.database import Database
from app.store.tables import attempts, sample_values, steps, studies
from app.store.upgrade import upgrade
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.work import Ask, Job, Tell
from tests.e2e.plate_study import SPEC, evaluate
from tests.e2e.replay import proposals, recording, replay
from tests.reliability.faults.fault_processes import FaultPoints
from tests.reliability.faults.lab_states import (
    asks,
    attempt_outcomes,
    end_claims,
    expire_all,
    make_overdue,
    planned_lab,
)
from tests.reliability.input.stored_rows import all_rows
from tests.service.lab import Lab

# Whether the tell happened
TELL_POINTS = {
    "tell.begun": False,
    "tell.written": False,
    "tell.committed": True,
}
STEP_POINTS = {
    "claim.written": False,
    "step.claimed": False,
    "step.computed": False,
    "step.written": False,
    "step.committed": True,
}
STEP_KINDS = ("initial", "stream", "search", "closing")
EVERY_NTH_TELL = 20


@pytest.fixture
def lab(database: Database) -> Lab:
    return planned_lab(database)


@contextmanager
def changes_if(lab: Lab, happens: bool) -> Iterator[None]:
    """Rows change if and only if the operation happens; the counters are right either
    way.
    """
    before = all_rows(lab.database)
    yield
    assert (all_rows(lab.database) != before) == happens
    lab.check_counters()


@pytest.mark.parametrize(("point", "happens"), TELL_POINTS.items())
def test_killed_tell_is_recorded_completely_or_not_at_all(
    lab: Lab,
    faults: FaultPoints,
    point: str,
    happens: bool,
) -> None:
    (job,) = lab.ask("crash")
    with changes_if(lab, happens):
        faults.run_until_killed(point, tell, lab.database, [lab.tell_of(job, 1.0)])
    assert (lab.job(job.job)["state"] == "done") == happens
    for _ in range(2):  # a worker without a response tells again
        assert lab.tell(job, 1.0).status == 200
    assert lab.values() == [(1.0, None)]
    assert attempt_outcomes(lab) == ["done"]
    lab.check_counters()


@pytest.mark.parametrize(
    ("point", "happens"), [("ask.written", False), ("ask.committed", True)]
)
def test_job_of_a_killed_ask_is_ready_or_returns(
    lab: Lab,
    faults: FaultPoints,
    point: str,
    happens: bool,
) -> None:
    with changes_if(lab, happens):
        faults.run_until_killed(point, serve_asks, lab.database, asks(1), 20.0)
    if happens:
        assert expire_all(lab) == 1
    assert len(lab.ask("crash", most=4)) == 4
    lab.check_counters()


@pytest.mark.parametrize("point", ["expire.found", "expire.written"])
def test_killed_expiry_changes_nothing(
    lab: Lab, faults: FaultPoints, point: str
) -> None:
    (job,) = lab.ask("crash")
    make_overdue(lab)
    with changes_if(lab, False):
        faults.run_until_killed(point, expire_leases, lab.database)
    assert expire_all(lab) == 1
    assert lab.job(job.job)["losses"] == 1
    lab.check_counters()


@pytest.mark.slow_on("postgresql")
@pytest.mark.timeout(600)  # on a loaded machine
def test_study_with_every_kind_of_kill_equals_the_undisturbed_study(
    database: Database, faults: FaultPoints, tmp_path: Path
) -> None:
    """The first step of each kind is killed at every point, and so is each tell that
    makes another kind due.

    Of the other steps each one, and of the other tells every 20th, is killed at one
    point. Each is then repeated.
    """
    create(database, parse_specification(SPEC), 60.0)
    run = KilledRun(database, faults)
    run.finish_study()
    for kind in STEP_KINDS:
        assert run.points_of(kind) == set(STEP_POINTS)
    for kind in STEP_KINDS[1:]:
        assert run.points_of(f"tell before {kind}") == set(TELL_POINTS)
    check_finished_once(database, run.told)
    with closing(Database(f"sqlite:///{tmp_path}/undisturbed.db")) as undisturbed:
        upgrade(undisturbed)
        replay(undisturbed, SPEC, recording(database))
        assert proposals(undisturbed) == proposals(database)
        assert set(proposals(database).values()) == {1}


def check_finished_once(database: Database, told: list[float]) -> None:
    """The study is finished, with one row for each step and each value."""
    with database.read() as connection:
        (study,) = connection.execute(select(studies)).all()
        step_rows = connection.execute(select(steps)).all()
        values = connection.execute(select(sample_values.c.value)).scalars().all()
        outcomes = connection.execute(select(attempts.c.outcome)).scalars().all()
    assert study.phase == "finished"
    assert study.settled_full == SPEC["budget"]
    assert {row.state for row in step_rows} == {"done"}
    identities = {(row.kind, row.objective, row.number) for row in step_rows}
    assert len(identities) == len(step_rows)
    assert sorted(value for value in values if value is not None) == sorted(told)
    assert set(outcomes) == {"done"}


class KilledRun:
    """Evaluates a study to its end while its processes are killed."""

    def __init__(self, database: Database, faults: FaultPoints) -> None:
        self.database = database
        self.faults = faults
        # By what was killed, and at which point
        self.kills: Counter[tuple[str, str]] = Counter()
        self.steps = 0
        self.tells = 0
        self.told: list[float] = []

    def points_of(self, operation: str) -> set[str]:
        return {point for killed, point in self.kills if killed == operation}

    def finish_study(self) -> None:
        ask = Ask(worker="w", studies=["*"], objectives=["*"], max_jobs=8)
        for _ in range(1000):
            planned = self.plan()
            (leased,) = serve_asks(self.database, [ask], 20.0)
            for job in leased:
                self.tell(job)
            if not leased and not planned:
                return
        raise AssertionError("the study does not end")

    def plan(self) -> bool:
        """Kill one planner, or one at each point, at the step that has been due
        longest; then let it happen.
        """
        due = self.due_kinds()
        if not due:
            return False
        is_first_of_kind = not self.points_of(due[0])
        all_points = list(STEP_POINTS)
        points = (
            all_points
            if is_first_of_kind
            else [all_points[self.steps % len(all_points)]]
        )
        self.steps += 1
        for point in points:
            self.kill_planner(due, point)
        assert STEP_POINTS[points[-1]] or plan_one(self.database)
        return True

    def kill_planner(self, due: list[str], point: str) -> None:
        happens = STEP_POINTS[point]
        done_before = self.done_kinds()
        self.faults.run_until_killed(point, plan_one, self.database)
        self.kills[due[0], point] += 1
        if happens:
            assert self.done_kinds() == [*done_before, due[0]]
        else:
            assert self.done_kinds() == done_before
            assert self.due_kinds() == due
        end_claims(self.database)

    def due_kinds(self) -> list[str]:
        with self.database.read() as connection:
            return kinds_of_steps(connection, "due", steps.c.due_at)

    def done_kinds(self) -> list[str]:
        with self.database.read() as connection:
            return kinds_of_steps(connection, "done", steps.c.done_at)

    def tell(self, job: Job) -> None:
        value, also = evaluate(job.objective, job.x)
        items = [
            Tell(job=job.job, lease=job.lease, value=value, also=also, duration_s=1.0)
        ]
        self.told += [value, *also.values()]
        self.tells += 1
        due_after = self.due_after(items)
        if due_after and not self.points_of(f"tell before {due_after[-1]}"):
            self.kill_tell_at_every_point(items, due_after)
        elif self.tells % EVERY_NTH_TELL == 0:
            point = list(TELL_POINTS)[self.tells // EVERY_NTH_TELL % len(TELL_POINTS)]
            self.faults.run_until_killed(point, tell, self.database, items)
        # A worker without a response tells again
        assert tell(self.database, items)[0].status == 200
        assert not due_after or self.due_kinds() == due_after

    def kill_tell_at_every_point(self, items: list[Tell], due_after: list[str]) -> None:
        due_before = self.due_kinds()
        for point, happens in TELL_POINTS.items():
            self.faults.run_until_killed(point, tell, self.database, items)
            self.kills[f"tell before {due_after[-1]}", point] += 1
            assert self.due_kinds() == (due_after if happens else due_before)

    def due_after(self, items: list[Tell]) -> list[str]:
        """Which steps are due after this tell, or nothing if it makes none due; tried
        and rolled back.
        """
        due_before = self.due_kinds()
        due_after: list[str] = []

        class RolledBack(Exception):
            pass

        def try_tell(connection: Connection) -> None:
            settle_tells(connection, items)
            due_after.extend(kinds_of_steps(connection, "due", steps.c.due_at))
            raise RolledBack

        with pytest.raises(RolledBack):
            self.database.write(try_tell)
        return due_after if due_after != due_before else []


def kinds_of_steps(connection: Connection, state: str, since: Column[Any]) -> list[str]:
    """The kinds of steps in this state, in the order in which they came into it."""
    in_state = select(steps.c.kind).where(steps.c.state == state)
    query = in_state.order_by(since, steps.c.id)
    return list(connection.execute(query).scalars())
