"""Three servers, two planners and 32 workers on one PostgreSQL, of which a server is cut off and comes back."""

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from app.store.database import Database
from app.store.tables import attempts, events, jobs, objectives, sample_values, samples, steps, studies, workers
from counterpoise.client import Client
from tests.e2e.processes import eventually, free_port, planning, serving
from tests.reliability.crew import Crew, evaluate

WORKERS = 32
INITIAL, BATCH, STEPS = 150, 10, 2
FEWEST = 2 * (INITIAL + STEPS * BATCH)  # jobs of one study, whatever becomes of its cheap-only ones
# A lost server's transaction ends after so long, and the others go on; 30 s where the URL does not say otherwise.
ABANDONED = "&options=-c%20idle_in_transaction_session_timeout%3D2s"
LONG_S = 300.0  # for so many processes on a loaded machine
TOLD = ("done", "late", "duplicate")


def specification(number: int, lease_s: float) -> dict[str, Any]:
    return {
        "name": f"wing{number}",
        "variables": [{"name": "a", "low": 0.0, "high": 1.0}, {"name": "b", "low": 0.0, "high": 1.0}],
        "objectives": [{"name": "mass", "evaluation_time_s": 1.0}, {"name": "crash", "evaluation_time_s": 2.0}],
        "budget": INITIAL + STEPS * BATCH,
        "initial_samples": INITIAL,
        "batch_size": BATCH,
        "generations": 2,
        "lease_s": lease_s,
        "max_losses": 1000,
        "seed": number,
    }


class House:
    """The servers, the planners, their database and the workers. The first server is the one that is cut off."""

    def __init__(self, stack: ExitStack, url: str, folder: Path, count: int, lease_s: float) -> None:
        self.stack, self.url, self.database = stack, url + ABANDONED, Database(url)
        stack.callback(self.database.close)
        self.faults = folder / "faults"
        self.faults.mkdir()
        self.port = free_port()
        self.first = self.start_first()
        others = [stack.enter_context(serving(self.url, "--no-planner"))[0] for _ in range(2)]
        self.planners = [stack.enter_context(planning(self.url))[1] for _ in range(2)]
        self.crew = Crew([f"http://127.0.0.1:{self.port}", *others], ["mass", "crash"], WORKERS, folder)
        with Client(others[0]) as client:
            for number in range(count):
                client.create_study(specification(number, lease_s))

    def start_first(self) -> "subprocess.Popen[bytes]":
        started = serving(self.url, "--no-planner", port=self.port, COUNTERPOISE_FAULTS=str(self.faults))
        return self.stack.enter_context(started)[1]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The first server stands still in the middle of a tell, with a study locked and requests under way."""
        hold, held = self.faults / "tell.written.hold", self.faults / "tell.written.held"
        held.unlink(missing_ok=True)  # of the last time
        hold.touch()
        eventually(held.exists, "a tell at the first server", LONG_S)
        self.first.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            hold.unlink()
            self.first.send_signal(signal.SIGCONT)

    def killed(self) -> None:
        self.first.kill()
        self.first.wait()

    def rows(self, query: Any) -> list[Any]:
        with self.database.read() as connection:
            return list(connection.execute(query).all())

    def done(self) -> int:
        return sum(self.done_by_study().values())

    def done_by_study(self) -> dict[int, int]:
        query = select(objectives.c.study_id, func.sum(objectives.c.done)).group_by(objectives.c.study_id)
        return {study: int(done) for study, done in self.rows(query)}

    def all_go_on(self) -> None:
        """Every study, so also the one that the frozen server had locked."""
        before = self.done_by_study()
        self.until(lambda: all(done >= before[study] + 20 for study, done in self.done_by_study().items()))

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for as long as jobs are done."""
        done = -1
        while not is_so():
            before, done = done, self.done()
            what = f"progress after {before} jobs"
            eventually(lambda: is_so() or self.done() > before, what, LONG_S)  # noqa: B023

    def throughput(self) -> str:
        first, last = self.rows(select(func.min(attempts.c.leased_at), func.max(attempts.c.ended_at)))[0]
        planned = [log.read_text().count('"event": "step"') for log in self.planners]
        ended = Counter(row.outcome for row in self.rows(select(attempts.c.outcome)))
        return (
            f"{self.done()} jobs in {last - first:.1f} s, {self.done() / (last - first):.0f} a second;"
            f" attempts {dict(ended)}; steps by planner {planned}"
        )

    def check(self, count: int) -> None:
        self._check_evaluations()
        self._check_jobs()
        rows = self.rows(select(studies))
        assert len(rows) == count
        for study in rows:
            budget = INITIAL + STEPS * BATCH
            assert (study.phase, study.planned_full, study.settled_full) == ("finished", budget, budget)
            of = select(events.c.seq).where(events.c.study_id == study.id).order_by(events.c.seq)
            assert [row.seq for row in self.rows(of)] == list(range(1, study.sequence + 1))
            self._check_steps(study.id)

    def _check_evaluations(self) -> None:
        """Nothing is lost: each evaluation is an attempt of its worker, with its value."""
        ended = {row.lease: row for row in self.rows(select(attempts))}
        for job, value in self.crew.evaluator.finished:
            attempt = ended[job.lease]
            assert (attempt.job_id, attempt.value, attempt.outcome in TOLD) == (job.job, value, True), attempt
        leases = [job.lease for job, _ in self.crew.evaluator.finished]
        assert len(leases) == len(set(leases)), "a lease was evaluated twice"
        assert {row.lease for row in ended.values() if row.outcome in TOLD} == set(leases)
        assert self.crew.untold() == []

    def _check_jobs(self) -> None:
        """Nothing is doubled: a job has one value, from one attempt, and it is right."""
        gave = Counter(row.job_id for row in self.rows(select(attempts)) if row.outcome in ("done", "late"))
        known = {(row.sample_id, row.objective_id): row.value for row in self.rows(select(sample_values))}
        names = {row.id: row.name for row in self.rows(select(objectives))}
        x = {row.id: dict(zip("ab", row.x, strict=True)) for row in self.rows(select(samples))}
        for job in self.rows(select(jobs)):
            assert job.state == "done" or (job.state == "superseded" and job.cheap_only), job
            is_done = job.state == "done"
            assert gave[job.id] == is_done
            right = evaluate(names[job.objective_id], x[job.sample_id]) if is_done else None
            assert known.pop((job.sample_id, job.objective_id), None) == right
        assert known == {}
        told = Counter(row.worker_id for row in self.rows(select(attempts)) if row.outcome in TOLD)
        assert {row.id: row.done for row in self.rows(select(workers)) if row.done} == told

    def _check_steps(self, study: int) -> None:
        """Each step happened once: its batch is there, and no other."""
        found = self.rows(select(steps).where(steps.c.study_id == study))
        assert {step.state for step in found} == {"done"}
        assert sorted(step.number for step in found if step.kind == "search") == list(range(1, STEPS + 1))
        full = Counter(
            row.step_id for row in self.rows(select(samples).where(samples.c.study_id == study, samples.c.full))
        )
        size = {"initial": INITIAL, "search": BATCH}
        assert full == {step.id: size[step.kind] for step in found if step.kind in size}


@pytest.mark.timeout(900)  # on a loaded machine
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_server_that_freezes_stops_no_other_and_nothing_is_lost_or_doubled(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        house = House(stack, database_url, tmp_path, count=3, lease_s=600.0)
        with house.crew.working():
            house.until(lambda: house.done() > 20)
            with house.frozen():
                house.all_go_on()
            house.until(lambda: house.crew.is_done)
        assert house.crew.failures == []
        assert house.done() >= 3 * FEWEST >= 1000
        house.check(3)
        # No lease ran out, so nothing was evaluated twice either.
        assert len(house.crew.evaluator.finished) == house.done()
        with capsys.disabled():
            print(f"\nscale-out: {house.throughput()}")  # noqa: T201


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_server_that_freezes_and_dies_again_and_again(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its workers' leases run out, and what they tell when it is back comes late."""
    count, lease_s = 20_000 // FEWEST + 1, 10.0
    with ExitStack() as stack:
        house = House(stack, database_url, tmp_path, count, lease_s)
        with house.crew.working():
            for part in range(1, 9):
                house.until(lambda part=part: house.done() > part * 2000)  # type: ignore[misc]
                with house.frozen():
                    time.sleep(lease_s * 1.5 if part % 2 else 1.0)
                    if part % 4 == 0:
                        house.killed()
                if part % 4 == 0:
                    house.first = house.start_first()
            house.until(lambda: house.crew.is_done)
        assert house.crew.failures == []
        assert house.done() >= count * FEWEST >= 20_000
        house.check(count)
        with capsys.disabled():
            print(f"\nscale-out: {house.throughput()}")  # noqa: T201
