"""Studies and their objectives, at one moment in time."""

from collections.abc import Sequence
from dataclasses import dataclass

from counterpoise.wire.codes import Ending, Phase, StudyState
from counterpoise.wire.specification import AUTO, Specification

# By objective with jobs of its own: the objectives that come with its run
CoObjectives = dict[int, list[int]]

ENDING_DETAILS = {
    Ending.BUDGET_USED: "the budget is used up",
    Ending.STOPPED: "it was stopped",
    Ending.SPACE_EXHAUSTED: "all points that the variables allow have been proposed",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """When a job that fails or is lost is not tried again, and becomes failed or
    superseded.
    """

    max_attempts: int
    max_losses: int
    # the study's last search step: returned cheap-only jobs of earlier ones are
    # superseded
    step: int
    is_stopped: bool  # returned jobs are superseded


@dataclass(frozen=True, slots=True)
class Run:
    """The constant part of an objective with jobs of its own."""

    name: str
    also: list[str]  # the objectives whose values come with it
    lease_s: float
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Definition:
    """The constant part of a study."""

    name: str
    seed: int
    spec: Specification
    runs: dict[int, Run]  # by objective


@dataclass(frozen=True, slots=True)
class Study:
    id: int
    name: str
    spec: Specification
    seed: int
    phase: Phase
    state: StudyState
    budget: int
    sequence: int  # of the last value, failure or event
    planned_full: int
    settled_full: int
    withdrawn: int  # samples that left the plan because a run ruled them out
    step: int  # the last search step that was executed
    # Followed where the plan depends on them: live slots that serve the slowest runs;
    # with `overlap: "auto"`, full samples to plan ahead because planning takes time
    slow_slots: int
    lookahead: int
    imported: int
    imported_complete: int
    cancel_running: bool
    created_at: float
    finished_at: float | None
    ending: Ending | None

    @property
    def is_finished(self) -> bool:
        return self.phase is Phase.FINISHED

    @property
    def is_paused(self) -> bool:
        return self.state is StudyState.PAUSED

    @property
    def is_stopped(self) -> bool:
        return self.ending is Ending.STOPPED

    @property
    def unsettled_full(self) -> int:
        return self.planned_full - self.settled_full

    @property
    def follows_slots(self) -> bool:
        """Whether the number of slots decides when and what is planned."""
        return AUTO in (self.spec.overlap, self.spec.batch_size)

    @property
    def overlap(self) -> int:
        """How many full samples may still run when the next step is planned."""
        declared = self.spec.overlap
        if isinstance(declared, int):
            return declared
        return max(self.slow_slots - 1, 0) + self.lookahead

    @property
    def most_withdrawn(self) -> int:
        """How many more samples may give their place in the budget back; bounded, so
        that every study ends.
        """
        return max(self.budget - self.withdrawn, 0)

    @property
    def limits(self) -> Limits:
        return Limits(
            self.spec.max_attempts, self.spec.max_losses, self.step, self.is_stopped
        )


@dataclass(frozen=True, slots=True)
class Objective:
    id: int
    study: int
    position: int
    name: str
    same_run_as: int | None
    lease_s: float
    timeout_s: float | None
    ratio: float
    cheap: bool | None  # None until search begins
    # Jobs, by what became of them.
    created: int
    waiting: int
    done: int
    infeasible: int
    failed: int
    superseded: int
    open_full: int  # unsettled jobs of full samples
    generation: int  # the last one of its stream; -1 when the stream has ended

    @property
    def has_jobs(self) -> bool:
        """Whether it has jobs of its own; otherwise its value comes with another
        objective's run.
        """
        return self.same_run_as is None

    @property
    def timeout_with_heartbeats_s(self) -> float | None:
        """The time limit of a run, if its lease has to be extended to get there: only
        then a worker that takes too long differs from one that died.
        """
        if self.timeout_s is None or self.timeout_s <= self.lease_s:
            return None
        return self.timeout_s

    def is_cheap(self, threshold: float, ratio: float | None = None) -> bool:
        """As fixed when search began; before that, by the given ratio or its present
        one.
        """
        if self.cheap is not None:
            return self.cheap
        return (self.ratio if ratio is None else ratio) > threshold

    @property
    def run(self) -> int:
        """The objective whose jobs return this one's value."""
        return self.id if self.same_run_as is None else self.same_run_as

    @property
    def unsettled(self) -> int:
        settled = self.done + self.infeasible + self.failed + self.superseded
        return self.created - settled

    def ready(self, leased: int) -> int:
        """The number of jobs that asks can lease; leased jobs are counted by index."""
        return self.unsettled - self.waiting - leased

    @property
    def unsettled_in_stream(self) -> int:
        """Unsettled jobs of the stream's last generation; generation 0 is the initial
        design.
        """
        return (
            self.open_full if self.generation == 0 else self.unsettled - self.open_full
        )


@dataclass(frozen=True, slots=True)
class NewObjective:
    """An objective of a study that is being created."""

    name: str
    lease_s: float
    timeout_s: float | None = None
    same_run_as: str | None = None
    ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Queue:
    """The jobs of one objective, as an ask needs them."""

    id: int
    study: int
    study_name: str
    objective: str
    state: StudyState
    phase: Phase
    unsettled: int
    ending: Ending | None


def slow_runs(study: Study, objectives: Sequence[Objective]) -> list[Objective]:
    """The objectives with jobs of their own that are not cheap."""
    threshold = study.spec.cheap_threshold
    return [
        objective
        for objective in objectives
        if objective.has_jobs and not objective.is_cheap(threshold)
    ]


def co_objectives_of(objectives: Sequence[Objective]) -> CoObjectives:
    """The objectives whose values come with each objective's run."""
    found: CoObjectives = {
        objective.id: [] for objective in objectives if objective.has_jobs
    }
    for objective in objectives:
        if objective.same_run_as is not None:
            found[objective.same_run_as].append(objective.id)
    return found
