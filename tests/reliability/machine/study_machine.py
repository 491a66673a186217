"""A study in a database beside its model; subclasses add the rules, each of which
changes both.
"""

from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import delete, select

from app.service.studies.lifecycle import create
from app.service.studies.lifecycle import delete as delete_study
from app.store.database import Database
from app.store.tables import jobs, objectives, samples, workers
from app.store.work.server_uptime import record_uptime
from counterpoise.wire.specification import parse_specification
from tests.reliability.machine.invariants import check_invariants, check_view
from tests.reliability.machine.snapshot import (
    database_snapshot,
    differences,
    model_snapshot,
    stored_job,
    stored_sample,
)
from tests.reliability.machine.tables import read_tables
from tests.reliability.model import lifecycle as model_lifecycle
from tests.reliability.model.records import Job, LogEntry, Sample, StudyRules
from tests.reliability.model.study import StudyModel

NAME = "wing"
EVALUATION_TIMES_S = {"mass": 1.0, "crash": 4.0}
RATIOS = {"mass": 4, "crash": 1}
CO_OBJECTIVES = {"mass": "drag", "crash": "lift"}


class StudyMachine(RuleBasedStateMachine):
    url: str
    model: StudyModel

    def __init__(self) -> None:
        super().__init__()
        self.database = Database(self.url)
        self.log: list[LogEntry] = []
        self.seen: set[str] = set()  # kinds of events that occurred

    def create_study(
        self,
        run_of_two: str,
        initial_samples: int,
        budget: int,
        overlap: int = 0,
        cheap_first: bool | None = None,
    ) -> None:
        """`run_of_two`: the run with a co-objective."""
        runs: dict[str, list[str]] = {"mass": [], "crash": []}
        runs[run_of_two] = [CO_OBJECTIVES[run_of_two]]
        rules = StudyRules(
            runs=runs,
            ratios=RATIOS,
            initial_samples=initial_samples,
            batch_size=2,
            max_attempts=2,
            max_losses=3,
            overlap=overlap,
            cheap_first=cheap_first,
        )
        spec = parse_specification(specification(rules, budget))
        assert create(self.database, spec, 60.0)
        self.database.write(record_uptime)
        self.model = model_lifecycle.create(rules, budget)

    def teardown(self) -> None:
        if hasattr(self, "model"):
            delete_study(self.database, NAME, force=True)
            self.database.write(lambda connection: connection.execute(delete(workers)))
        self.database.close()

    def read(self, query: Any) -> list[Any]:
        with self.database.read() as connection:
            return list(connection.execute(query))

    def new_samples(self) -> dict[int, Sample]:
        """Samples that the model does not have yet."""
        rows = self.read(select(samples).order_by(samples.c.id))
        new = {
            row.id: stored_sample(row)
            for row in rows
            if row.id not in self.model.samples
        }
        assert not any(sample.given_up for sample in new.values())
        return new

    def new_jobs(self) -> dict[int, Job]:
        """Jobs that the model does not have yet."""
        names = {row.id: row.name for row in self.read(select(objectives))}
        rows = self.read(select(jobs).order_by(jobs.c.id))
        new = {
            row.id: stored_job(row, names)
            for row in rows
            if row.id not in self.model.jobs
        }
        for job in new.values():
            fresh = Job(job.sample, job.objective, job.cheap_only, job.step, job.state)
            assert job == fresh, "a new job is not fresh"
            assert job.state in ("waiting", "ready")
        return new

    @rule()
    def restart_server(self) -> None:
        self.database.close()
        self.database = Database(self.url)

    @invariant()
    def database_equals_model(self) -> None:
        """Also checks the promises that need no model, with the same rows."""
        tables = read_tables(self.database)
        actual = database_snapshot(tables)
        expected = model_snapshot(self.model)
        for part in expected:
            assert actual[part] == expected[part], (
                f"{part}: {differences(actual[part], expected[part])}"
            )
        assert actual["log"][: len(self.log)] == self.log, (
            "an entry of the log has changed"
        )
        self.log = actual["log"]
        check_invariants(tables)
        check_view(self.database, tables)


def specification(rules: StudyRules, budget: int) -> dict[str, Any]:
    outputs: list[dict[str, Any]] = []
    for run, co_objectives in rules.runs.items():
        outputs.append({"name": run, "evaluation_time_s": EVALUATION_TIMES_S[run]})
        outputs += [{"name": name, "same_run_as": run} for name in co_objectives]
    return {
        "name": NAME,
        "variables": [
            {"name": "a", "low": 0.0, "high": 1.0},
            {"name": "b", "low": 0.0, "high": 1.0},
        ],
        "objectives": outputs,
        "budget": budget,
        "initial_samples": rules.initial_samples,
        "batch_size": rules.batch_size,
        "overlap": rules.overlap,
        "cheap_first": rules.cheap_first,
        "generations": 1,
        "max_attempts": rules.max_attempts,
        "max_losses": rules.max_losses,
        "lease_s": 3600.0,
        "seed": 1,
    }
