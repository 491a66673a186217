"""The reference model of a study: what it should be after each event, written from the
design.

The model keeps no counters, except of expired leases: what the server counts is derived
here from the jobs.
"""

from collections import Counter
from dataclasses import dataclass, field

from tests.reliability.model.records import (
    Attempt,
    Job,
    LogEntry,
    Result,
    Sample,
    StepId,
    StudyRules,
)

STATES = ("waiting", "done", "infeasible", "failed", "superseded")


@dataclass
class StudyModel:
    rules: StudyRules
    budget: int
    phase: str = "initial"
    active: bool = True
    stopped: bool = False
    cancel_running: bool = False
    step: int = 0
    samples: dict[int, Sample] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    attempts: dict[str, Attempt] = field(default_factory=dict)  # by lease
    log: list[LogEntry] = field(default_factory=list)
    # With the number of samples to propose
    due_steps: dict[StepId, int] = field(default_factory=dict)
    done_steps: list[StepId] = field(default_factory=list)
    imported_complete: int = 0
    withdrawn: int = 0
    ruled_out: list[int] = field(default_factory=list)  # samples not yet withdrawn
    # By objective; a revived lease has expired, too
    expired: Counter[str] = field(default_factory=Counter)

    @property
    def planned_full(self) -> list[int]:
        return [number for number, sample in self.samples.items() if sample.is_planned]

    @property
    def settled_full(self) -> list[int]:
        unsettled = {job.sample for job in self.jobs.values() if job.is_open}
        return [sample for sample in self.planned_full if sample not in unsettled]

    @property
    def leased_jobs(self) -> list[int]:
        return [number for number, job in self.jobs.items() if job.lease]

    @property
    def reported_leases(self) -> list[str]:
        """Leases on which a result was told."""
        return [
            lease for lease, attempt in self.attempts.items() if attempt.is_reported
        ]

    def jobs_in(self, state: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.state == state]

    def jobs_of(self, sample: int) -> list[Job]:
        return [job for job in self.jobs.values() if job.sample == sample]

    def jobs_for(self, run: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.objective == run]

    def open_outputs(self, sample: int) -> int:
        """How many outputs of the sample are not settled."""
        open_jobs = [job for job in self.jobs_of(sample) if job.is_open]
        return sum(len(self.rules.outputs_of(job.objective)) for job in open_jobs)

    def known(self, sample: int) -> dict[str, Result]:
        """By objective: the value, or the kind of the last final failure."""
        results: dict[str, Result] = {}
        for entry in self.log:
            if entry.sample == sample and entry.objective is not None:
                results[entry.objective] = entry.result
        return results

    def counters(self) -> dict[str, tuple[int, ...]]:
        """By objective: created, jobs in each of STATES, open_full."""
        counters = {}
        for run, co_objectives in self.rules.runs.items():
            jobs = self.jobs_for(run)
            open_full = sum(job.is_open and not job.cheap_only for job in jobs)
            states = [job.state for job in jobs]
            counters[run] = (len(jobs), *_count_states(states), open_full)
            for name in co_objectives:
                states = [job.state_of(name) for job in jobs]
                # Only a run with jobs of its own waits.
                counters[name] = (len(jobs), 0, *_count_states(states)[1:], 0)
        return counters

    def anomalies(self) -> dict[str, tuple[int, int, int]]:
        """By objective: expired leases, late values, duplicate values."""
        late: Counter[str] = Counter()
        duplicate: Counter[str] = Counter()
        for attempt in self.attempts.values():
            objective = self.jobs[attempt.job].objective
            late[objective] += attempt.outcome == "late"
            duplicate[objective] += attempt.outcome == "duplicate"
        names = self.rules.objectives
        return {
            name: (self.expired[name], late[name], duplicate[name]) for name in names
        }

    def log_events(self, *kinds: str) -> None:
        self.log += [LogEntry(kind) for kind in kinds]

    def log_value(
        self,
        sample: int,
        objective: str,
        value: float,
    ) -> None:
        self.log.append(LogEntry("done", sample, objective, value))

    def log_failure(
        self,
        sample: int,
        objective: str,
        kind: str,
    ) -> None:
        is_infeasible = kind == "infeasible"
        if is_infeasible:
            self.samples[sample].infeasible = True
            self.ruled_out.append(sample)
        event = "infeasible" if is_infeasible else "failed"
        self.log.append(LogEntry(event, sample, objective, failure=kind))

    def log_result(
        self,
        sample: int,
        objective: str,
        value: float | None,
        failure: str,
    ) -> None:
        """The value, or the failure if there is no value."""
        if value is not None:
            self.log_value(sample, objective, value)
        else:
            self.log_failure(sample, objective, failure)


def _count_states(states: list[str]) -> list[int]:
    return [states.count(state) for state in STATES]
