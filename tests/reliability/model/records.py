"""Records of the reference model: plain data, without the database and without the
application.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

OPEN = ("waiting", "ready", "leased")
# Outcomes of attempts whose worker told a result
REPORTED = (
    "done",
    "failed",
    "late",
    "duplicate",
)
Point = tuple[float, ...]
Evaluation = Mapping[str, float | None]  # of an import, by objective; None: infeasible
Result = float | str  # a value, or the kind of a final failure


class StepId(NamedTuple):
    kind: str
    objective: int  # of a stream, else -1
    number: int

    def is_stream_of(self, objective: int) -> bool:
        return self.kind == "stream" and self.objective == objective


class LogEntry(NamedTuple):
    """One number of the study's sequence."""

    kind: str
    sample: int | None = None
    objective: str | None = None
    value: float | None = None
    failure: str | None = None

    @property
    def result(self) -> Result:
        if self.value is not None:
            return self.value
        assert self.failure is not None
        return self.failure


@dataclass
class Sample:
    full: bool
    x: Point
    imported: bool = False
    given_up: bool = False
    infeasible: bool = False

    @property
    def is_planned(self) -> bool:
        return self.full and not self.imported and not self.given_up


@dataclass
class Job:
    sample: int
    objective: str
    cheap_only: bool
    step: int
    state: str = "ready"
    lease: str | None = None
    attempts: int = 0
    errors: int = 0
    losses: int = 0
    backs_off: bool = False
    # How the co-objectives of its run ended; the database has it only in the counters
    # of objectives.
    co_outcomes: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def state_of(self, co_objective: str) -> str:
        return self.co_outcomes[co_objective] if self.state == "done" else self.state

    def move_to(self, state: str, lease: str | None = None) -> None:
        """Change the state; the former lease and back-off end."""
        self.state = state
        self.lease = lease
        self.backs_off = False


@dataclass
class Attempt:
    job: int
    number: int
    outcome: str | None = None
    value: float | None = None
    failure: str | None = None
    also: dict[str, float] = field(default_factory=dict)

    @property
    def is_reported(self) -> bool:
        return self.outcome in REPORTED


@dataclass
class TellItem:
    job: int
    lease: str
    value: float | None = None
    failure: str | None = None
    also: dict[str, float] = field(default_factory=dict)

    def repeats(self, attempt: Attempt) -> bool:
        """Whether it reports what the attempt reported before."""
        same_result = self.value == attempt.value and self.failure == attempt.failure
        return same_result and self.also == attempt.also


@dataclass
class StudyRules:
    """The fixed part of a study's specification."""

    # Objectives that have jobs, in order, with the co-objectives of each
    runs: dict[str, list[str]]
    ratios: dict[str, int]
    initial_samples: int
    batch_size: int
    max_attempts: int
    max_losses: int
    overlap: int = 0
    cheap_first: bool | None = None

    @property
    def objectives(self) -> list[str]:
        names: list[str] = []
        for run in self.runs:
            names += self.outputs_of(run)
        return names

    def outputs_of(self, run: str) -> list[str]:
        return [run, *self.runs[run]]
