"""A point once proposed is never proposed again, in random histories on a small grid
where several streams and search steps meet.
"""

from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from app.errors import CounterpoiseError
from app.planner.planner import claim_due_step
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.planning.replay import replay
from app.service.studies.evaluate_point import evaluate_point
from app.service.studies.exclude_sample import exclude_sample
from app.service.studies.lifecycle import extend, retry, stop
from app.store.database import Database
from app.store.tables import samples, steps
from counterpoise.wire.points import EvaluatePoint
from tests.service.lab import Lab

GRID: dict[str, Any] = {
    "variables": [{"name": name, "type": "int", "low": 0, "high": 7} for name in "ab"],
    "objectives": [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "drag", "evaluation_time_s": 2.0},
        {"name": "crash", "evaluation_time_s": 6.0},
    ],
    "budget": 9,
    "batch_size": 2,
    "generations": 1,
    "max_attempts": 1,
}


class History:
    """Random events in a study; steps that are due together are computed together and
    committed in a random order.
    """

    def __init__(self, database: Database, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  (no secret)
        overlap = self.random.choice([0, 1])
        self.lab = Lab(
            database, **GRID, name=f"grid-{seed}", seed=seed, overlap=overlap
        )

    def run(self, events: int) -> None:
        kinds = [self.work] * 6 + [self.plan] * 4 + [self.request, self.exclude]
        kinds += [self.retry_failed, self.stop_and_extend]
        for _ in range(events):
            self.random.choice(kinds)()
        self.lab.run()

    def work(self) -> None:
        got = self.lab.ask(most=self.random.randint(1, 12))
        for job in self.random.sample(got, len(got)):
            failure = self.random.choices(
                [None, "infeasible", "error"], weights=[12, 1, 1]
            )[0]
            if failure is None:
                self.lab.tell(job)
            else:
                self.lab.fail(job, failure)

    def plan(self) -> None:
        due = [step for _ in range(3) if (step := claim_due_step(self.lab.database))]
        plans = [(step, compute_step(self.lab.database, step)) for step in due]
        if self.random.random() < 0.3:
            self.request()
        for step, plan in self.random.sample(plans, len(plans)):
            commit_step(self.lab.database, step, plan)

    def request(self) -> None:
        x = {name: self.random.randint(0, 7) for name in "ab"}
        request = EvaluatePoint(x=x, outside_budget=self.random.random() < 0.5)
        self.attempt(lambda: evaluate_point(self.lab.database, self.lab.name, request))

    def exclude(self) -> None:
        rows = self.lab.rows(samples)
        mine = [row["id"] for row in rows]
        if mine:
            sample = self.random.choice(mine)
            excluded = self.random.random() < 0.6
            name = self.lab.name
            self.attempt(
                lambda: exclude_sample(
                    self.lab.database, name, sample, excluded=excluded
                )
            )

    def retry_failed(self) -> None:
        self.attempt(lambda: retry(self.lab.database, self.lab.name, None))

    def stop_and_extend(self) -> None:
        name, budget = self.lab.name, self.lab.view().budget
        stop(self.lab.database, name, cancel_running=False)
        self.attempt(lambda: extend(self.lab.database, name, budget + 1))

    def attempt(self, change: Any) -> None:
        """A refusal is an event too."""
        with suppress(CounterpoiseError):
            change()

    def check(self) -> int:
        """Returns how many proposals were samples already."""
        self.lab.check_counters()
        points = Counter(tuple(row["x"]) for row in self.lab.rows(samples))
        assert set(points.values()) == {1}
        different = [
            again
            for again in replay(self.lab.database, self.lab.name, None)
            if not again.equal
        ]
        assert different == []
        records = [row["record"] or {} for row in self.lab.rows(steps)]
        return sum(len(record.get("joined", [])) for record in records)


@pytest.mark.slow_on("sqlite")
@pytest.mark.timeout(600)
def test_no_point_is_proposed_twice_in_a_random_history(database: Database) -> None:
    history = History(database, seed=3)
    history.run(events=25)
    assert history.check() > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_no_point_is_proposed_twice_in_many_histories(
    database: Database, seed: int
) -> None:
    history = History(database, seed)
    history.run(events=60)
    history.check()
