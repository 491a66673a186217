"""A study in a database, with workers and a planner played by the test."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import text

from app.planner.planner import plan_one
from app.service.studies.lifecycle import create
from app.service.studies.progress import study_view
from app.service.work.ask import serve_asks
from app.service.work.expire import expire_leases
from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import (
    attempts,
    events,
    jobs,
    objectives,
    sample_values,
    samples,
    studies,
    workers,
)
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.codes import JobState
from counterpoise.wire.specification import parse_specification
from counterpoise.wire.views import StudyView
from counterpoise.wire.work import Ask, Failure, Job, Tell, Told
from tests.store.table_rows import rows_of

SPEC: dict[str, Any] = {
    "name": "wing",
    "variables": [
        {"name": "a", "low": 0.0, "high": 1.0},
        {"name": "b", "low": 0.0, "high": 1.0},
    ],
    "objectives": [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 4.0},
    ],
    "budget": 10,
    "initial_samples": 4,
    "seed": 1,
}


def value(job: Job) -> float:
    a, b = job.x["a"], job.x["b"]
    values: dict[str, float] = {
        "mass": a + 0.1 * b,
        "crash": (1.0 - a) ** 2 + b,
        "lift": b,
        "drag": a * b,
    }
    return values[job.objective]


def also_of(job: Job) -> dict[str, float]:
    return {
        name: value(job.model_copy(update={"objective": name})) for name in job.also
    }


class Lab:
    def __init__(
        self, database: Database, *, paused: bool = False, **changes: Any
    ) -> None:
        self.database = database
        spec = parse_specification({**SPEC, **changes})
        self.name = spec.name
        create(database, spec, lease_s=60.0, paused=paused)
        database.write(record_uptime)

    def plan(self) -> int:
        """Run every step that is due; returns how many."""
        done = 0
        while plan_one(self.database):
            done += 1
        return done

    def ask(
        self,
        *names: str,
        most: int = 1,
        worker: str = "w",
        instance: str | None = None,
    ) -> list[Job]:
        ask = Ask(
            worker=worker,
            instance=instance,
            studies=[self.name],
            objectives=list(names) or ["*"],
            max_jobs=most,
        )
        return serve_asks(self.database, [ask], heartbeat_s=20.0)[0]

    def tell(self, job: Job, told: float | None = None, **more: Any) -> Told:
        (answer,) = tell(self.database, [self.tell_of(job, told, **more)])
        return answer

    def tell_of(self, job: Job, told: float | None = None, **more: Any) -> Tell:
        return Tell(
            job=job.job,
            lease=job.lease,
            value=value(job) if told is None else told,
            **more,
        )

    def fail(self, job: Job, kind: str, message: str = "") -> Told:
        failure = Failure(kind=kind, message=message)
        (answer,) = tell(
            self.database, [Tell(job=job.job, lease=job.lease, failure=failure)]
        )
        return answer

    def expire(self, *held: Job) -> int:
        """Let these leases (all, if none is given) expire, as if servers had been up
        for a long time.
        """
        ids = [job.job for job in held]

        def age(connection: Any) -> None:
            connection.execute(text("UPDATE server_uptime SET resumed_at = 0"))
            some = jobs.update().where(jobs.c.state == "leased").values(expires_at=1.0)
            connection.execute(some.where(jobs.c.id.in_(ids)) if ids else some)

        self.database.write(age)
        return expire_leases(self.database)

    def end_backoffs(self) -> None:
        """End every back-off."""
        self.database.write(
            lambda connection: connection.execute(jobs.update().values(ready_at=None))
        )

    def run(
        self, order: Callable[[Sequence[Job]], Sequence[Job]] = list, rounds: int = 1000
    ) -> StudyView:
        """Ask, evaluate, tell and plan until the study is finished."""
        for _ in range(rounds):
            planned = self.plan()
            got = self.ask(most=8)
            said = [self.tell_of(job, also=also_of(job)) for job in order(got)]
            assert all(answer.status == 200 for answer in tell(self.database, said))
            if not got and not planned:
                break
        return self.view()

    def run_until(self, step: int) -> None:
        """Go on until this search step is planned."""
        while self.rows(studies)[0]["step"] < step:
            got = self.ask(most=8)
            tell(self.database, [self.tell_of(job) for job in got])
            assert self.plan() or got

    def view(self) -> StudyView:
        return study_view(self.database, self.name)

    def health(self) -> list[str]:
        """The codes of what needs attention."""
        return [item.code for item in self.view().health]

    def rows(self, table: Any) -> list[dict[str, Any]]:
        return rows_of(self.database, table)

    def job(self, number: int) -> dict[str, Any]:
        return next(row for row in self.rows(jobs) if row["id"] == number)

    def values(self) -> list[tuple[float | None, str | None]]:
        """What was learnt, in order."""
        return [(row["value"], row["failure"]) for row in self.rows(sample_values)]

    def check_counters(self) -> None:
        """What is counted by hand equals what is kept."""
        (study,) = [row for row in self.rows(studies) if row["name"] == self.name]

        def mine(table: Any) -> list[dict[str, Any]]:
            return [row for row in self.rows(table) if row["study_id"] == study["id"]]

        view, all_jobs, all_samples = self.view(), mine(jobs), mine(samples)
        names = {row["id"]: row["name"] for row in mine(objectives)}
        for seen in view.outputs:
            if seen.same_run_as is None:
                states = [
                    row["state"]
                    for row in all_jobs
                    if names[row["objective_id"]] == seen.name
                ]
                kept = {state: getattr(seen, state) for state in JobState}
                assert kept == {state: states.count(state) for state in JobState}
        held_back = {job["sample_id"] for job in all_jobs if job["state"] == "waiting"}
        assert held_back == {row["id"] for row in all_samples if row["waiting"]}
        own = [
            row
            for row in all_samples
            if row["imported_seq"] is None or row["in_budget"]
        ]
        full = [row for row in own if row["full"] and not row["given_up"]]
        assert study["imported"] == len(all_samples) - len(own)
        assert study["planned_full"] == len(full) <= study["budget"]
        assert study["settled_full"] == sum(row["open"] == 0 for row in full)
        withdrawn = [row for row in own if row["given_up"] and row["infeasible"]]
        assert study["withdrawn"] >= len(withdrawn)
        assert [row["seq"] for row in mine(events)] == list(
            range(1, study["sequence"] + 1)
        )
        leased = [row for row in all_jobs if row["state"] == "leased"]
        numbers = {row["id"] for row in all_jobs}
        running = [
            r["lease"]
            for r in self.rows(attempts)
            if r["outcome"] is None and r["job_id"] in numbers
        ]
        assert sorted(running) == sorted(row["lease"] for row in leased)
        self.check_workers()
        for row in mine(objectives):
            wanted = [
                job
                for job in all_jobs
                if job["objective_id"] == row["id"] and not job["cheap_only"]
            ]
            assert row["open_full"] == sum(
                not JobState(job["state"]).is_settled for job in wanted
            )
            waiting = [job for job in wanted if job["state"] == JobState.WAITING]
            assert row["waiting"] == len(waiting)

    def check_workers(self) -> None:
        for worker in self.rows(workers):
            mine = [
                row
                for row in self.rows(attempts)
                if row["worker_id"] == worker["id"] and row["outcome"]
            ]
            assert worker["done"] == sum(
                row["outcome"] in ("done", "late", "duplicate") for row in mine
            )
            assert worker["lost"] == sum(row["outcome"] == "expired" for row in mine)
            for kind in ("infeasible", "error", "infrastructure"):
                assert worker[kind] == sum(
                    (row["outcome"], row["failure"]) == ("failed", kind) for row in mine
                )
            assert worker["busy_s"] == pytest.approx(
                sum(row["ended_at"] - row["leased_at"] for row in mine), abs=1e-3
            )
