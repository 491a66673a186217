"""Everything that changes a study, at the same time: no deadlock, and the counters are
right.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from sqlalchemy import select

from app.errors import CounterpoiseError, DatabaseUnusable
from app.planner.planner import claim_due_step
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.studies.evaluate_point import evaluate_point
from app.service.studies.exclude_sample import exclude_sample
from app.service.studies.lifecycle import extend, retry
from app.service.work.cancel import cancel_job
from app.service.work.expire import expire_leases
from app.service.work.goodbye import goodbye
from app.service.work.heartbeat import heartbeat
from app.service.work.release import release
from app.store.database import Database
from app.store.tables import samples
from counterpoise.wire.points import EvaluatePoint
from counterpoise.wire.work import Job
from tests.e2e.processes import eventually
from tests.service.lab import Lab

STUDY: dict[str, Any] = {
    "objectives": [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "drag", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 8.0},
    ],
    "budget": 400,
    "batch_size": 3,
    "overlap": 2,
    "generations": 1,
    "strategy": "random",
    "cheap_first": True,
}
WORKERS = 4


class Crowd:
    """Threads that each do one kind of thing until they are stopped."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.database = lab.database
        self.stopped = threading.Event()
        self.done: Counter[str] = Counter()
        self.faults: list[str] = []
        # Leases that all threads may name: those of others, and old ones
        self.leases: list[Job] = []

    @contextmanager
    def acting(self) -> Iterator[None]:
        acts: list[Callable[[Random], None]] = [self.work] * WORKERS
        acts += [self.beat, self.leave, self.interfere, self.plan, self.plan]
        threads = [
            threading.Thread(target=self._repeat, args=(act, Random(number)))  # noqa: S311
            for number, act in enumerate(acts)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stopped.set()
            for thread in threads:
                thread.join()

    def _repeat(self, act: Callable[[Random], None], random: Random) -> None:
        while not self.stopped.is_set():
            try:
                act(random)
                self.done[act.__name__] += 1
            except DatabaseUnusable as error:
                self.faults.append(f"{act.__name__}: {error}")
            except CounterpoiseError:
                self.done["refused"] += 1
            except Exception as error:  # noqa: BLE001  reported by the test
                self.faults.append(f"{act.__name__}: {error!r}")

    def work(self, random: Random) -> None:
        worker = f"w{random.randint(1, 3)}"
        jobs = self.lab.ask(most=6, worker=worker, instance=f"{random.randint(1, 2)}")
        self.leases = [*self.leases[-60:], *jobs]
        for job in jobs:
            choice = random.random()
            if choice < 0.75:
                self.lab.tell(job, random.random())
            elif choice < 0.87:
                self.lab.fail(job, random.choice(["infeasible", "error"]))

    def beat(self, random: Random) -> None:
        known = [job.lease for job in self.leases]
        heartbeat(self.database, random.sample(known, min(len(known), 20)))

    def leave(self, random: Random) -> None:
        time.sleep(0.05)
        if random.random() < 0.5:
            goodbye(
                self.database, f"w{random.randint(1, 3)}", f"{random.randint(1, 2)}"
            )
        else:
            known = [job.lease for job in self.leases]
            release(self.database, random.sample(known, min(len(known), 5)))
        expire_leases(self.database)

    def interfere(self, random: Random) -> None:
        time.sleep(0.02)
        database, name = self.database, self.lab.name
        act = random.randint(0, 4)
        if act == 0 and self.leases:
            job = random.choice(self.leases).job
            cancel_job(database, job, fail=random.random() < 0.5)
        elif act == 1:
            sample = self._any_sample(random)
            exclude_sample(database, name, sample, excluded=random.random() < 0.5)
        elif act == 2:
            x = {"a": random.random(), "b": random.random()}
            request = EvaluatePoint(x=x, outside_budget=random.random() < 0.5)
            evaluate_point(database, name, request)
        elif act == 3:
            retry(database, name, None, infeasible=random.random() < 0.5)
        else:
            extend(database, name, self.lab.view().budget + 1)

    def _any_sample(self, random: Random) -> int:
        with self.database.read() as connection:
            ids: list[int] = list(connection.execute(select(samples.c.id)).scalars())
        return random.choice(ids)

    def plan(self, random: Random) -> None:
        step = claim_due_step(self.database)
        if step is None:
            time.sleep(0.01)
            return
        plan = compute_step(self.database, step)
        if step.kind == "search" and random.random() < 0.7:
            with self.database.read() as connection:
                cheap_only = select(samples.c.id).where(~samples.c.full)
                ids = list(connection.execute(cheap_only).scalars())
            full = [sample for sample in plan.samples if sample.full]
            plan.promoted = sorted(random.sample(ids, min(len(full), len(ids))))
            others = full[len(plan.promoted) :]
            plan.samples = others + [one for one in plan.samples if not one.full]
        commit_step(self.database, step, plan)
        self.done[f"step {step.kind}"] += 1


def run(database: Database, search_steps: int) -> Crowd:
    lab = Lab(database, **STUDY)
    lab.plan()
    crowd = Crowd(lab)
    with crowd.acting():
        eventually(
            lambda: crowd.faults or crowd.done["step search"] >= search_steps,
            "search steps",
        )
    return crowd


@pytest.mark.timeout(600)
def test_concurrent_changes_leave_the_counters_right(database: Database) -> None:
    crowd = run(database, search_steps=5)
    assert crowd.faults == []
    crowd.lab.check_counters()


@pytest.mark.slow
def test_many_concurrent_changes(database: Database) -> None:
    crowd = run(database, search_steps=30)
    assert crowd.faults == []
    crowd.lab.check_counters()
