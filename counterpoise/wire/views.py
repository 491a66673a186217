"""Responses about studies, samples, jobs, steps and workers."""

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

from counterpoise.wire.codes import FrontCode
from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.work import Request, WorkerText

Item = TypeVar("Item")
MOST_BUDGET = 1_000_000  # as for a specification


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next: str | None = Field(
        description="give it as `cursor` for the next page; null at the end"
    )


class OutputView(BaseModel):
    """An objective or a constraint, and its jobs."""

    name: str
    unit: str | None
    lower: float | None = Field(None, description="limits; null where there is none")
    upper: float | None = None
    same_run_as: str | None
    cheap: bool
    ratio: float = Field(
        description="evaluations of this objective that fit into one of the slowest"
    )
    median_duration_s: float | None = Field(
        description="of the last 100; null before the first"
    )
    duration_quartiles_s: tuple[float, float] | None = Field(
        None,
        description="a quarter took less than the first, a quarter more than the second; null before the third",
    )
    waiting: int = Field(0, description="jobs that wait for a sample's cheap runs")
    ready: int
    leased: int
    done: int
    infeasible: int = Field(0, description="points without a value: a result")
    failed: int
    superseded: int


class ObjectiveView(OutputView):
    direction: str
    noise: bool | float = Field(
        False, description="as declared: true, or the standard deviation"
    )


class ConstraintView(OutputView):
    pass


class Hypervolume(BaseModel):
    value: float
    reference_point: dict[str, float] = Field(
        description="in the user's units and directions"
    )
    step: int
    exact: bool = Field(description="false above 5 objectives: approximated")
    front: int | None = Field(None, description="samples on the front then")
    previous: float | None = Field(
        None, description="the value at the step before, against the same point"
    )


class StudySummary(BaseModel):
    name: str
    phase: str
    state: str
    step: int
    evaluated_full: int
    planned_full: int
    withdrawn: int = Field(
        0,
        description="infeasible samples that gave their place in the budget back",
    )
    imported: int = Field(0, description="imported samples: data, not budget")
    budget: int
    created_at: str
    finished_at: str | None
    ending: str | None = Field(
        None,
        description="why it is finished: `budget_used`, `stopped` or `space_exhausted`; null before",
    )


class HealthItem(BaseModel):
    """One thing that needs attention."""

    code: str = Field(description="stable, for programs", examples=["no_worker"])
    detail: str = Field(description="for people: what it is and what to do")
    objective: str | None = Field(None, description="the objective that it concerns")
    step: str | None = Field(None, description="the step that it concerns")
    job: int | None = Field(None, description="the job that it concerns")
    worker: str | None = Field(None, description="the worker that it concerns")


class StudyView(StudySummary):
    objectives: list[ObjectiveView]
    constraints: list[ConstraintView] = []
    feasible: int | None = Field(
        None,
        description="full samples with all values that kept all limits at the last step; null before the first",
    )
    ratio_source: str = Field(
        description="where the ratios come from: `declared`, `measured`, or `assumed` until each run was measured"
        " three times"
    )
    overlap: int = Field(
        0, description="full samples that may still run when the next step is planned"
    )
    slow_slots: int = Field(
        0, description="live slots that serve the slowest runs, with `overlap: auto`"
    )
    hypervolume: Hypervolume | None
    planning_s: float | None = Field(
        None, description="how long the last step took, from due to done"
    )
    health: list[HealthItem] = Field(
        description="what needs attention; empty when all is well"
    )
    spec: dict[str, Any]

    @property
    def outputs(self) -> list[OutputView]:
        """The objectives, then the constraints."""
        return [*self.objectives, *self.constraints]


class SampleView(BaseModel):
    sample: int
    step: str | None = Field(
        description="initial, stream:OBJECTIVE:NUMBER or search:NUMBER; null for imported ones"
    )
    full: bool
    x: dict[str, Coordinate]
    values: dict[str, float]
    failures: dict[str, str]
    open: int = Field(description="objectives still awaited")
    infeasible: bool = Field(
        False, description="a run has ruled the point out, or a value breaks a limit"
    )
    broken_limits: list[str] = Field(
        [], description="outputs whose values are beyond their limits"
    )
    withdrawn: bool = Field(
        False, description="it gave its place in the budget back for that"
    )
    promoted: int | None = Field(
        None, description="the search step that made a cheap-only sample a full one"
    )
    excluded: bool = Field(
        False, description="an engineer has excluded it from front and models"
    )


class JobView(BaseModel):
    job: int
    sample: int
    objective: str
    state: str
    value: float | None
    attempts: int
    cheap_only: bool
    worker: str | None = Field(description="the worker that holds it, or held it last")
    expires_at: str | None
    failure: str | None = Field(
        None, description="how its last attempt failed, if it did"
    )
    message: str | None = Field(
        None,
        description="what its worker reported about that, in one line without the logs",
    )


class AttemptView(BaseModel):
    """A job and one of its attempts; a job without any has one such row."""

    job: int
    sample: int
    objective: str
    cheap_only: bool
    state: str = Field(description="the job's")
    attempt: int | None
    worker: str | None
    leased_at: str | None
    ended_at: str | None
    outcome: str | None = Field(description="how the attempt ended; null while it runs")
    value: float | None
    failure: str | None
    message: str | None
    duration_s: float | None = Field(description="as the worker reported it")
    details: dict[str, Any] | None = Field(
        description="`metadata` and `also`, as reported"
    )


class AttemptStory(BaseModel):
    number: int
    worker: str
    leased_at: str
    ended_at: str | None
    outcome: str | None = Field(
        description="done, failed, late, duplicate, expired, released, cancelled or overtaken; null while it runs"
    )
    value: float | None
    failure: str | None
    message: str | None = Field(
        description="the last 2,000 characters of the worker's message about a failure"
    )
    duration_s: float | None = Field(description="as the worker measured it")


class PromotionView(BaseModel):
    """Why a cheap-only sample became a full one; numbers are in the output's unit."""

    step: str
    gain: float | None = Field(
        description="expected approach to the front, in its ranges; null: chosen for its uncertainty"
    )
    predicted: float = Field(description="what the step expected of this output")
    deviation: float = Field(description="its standard deviation; 0: it was known")
    observed: float | None


class JobStory(BaseModel):
    job: int
    study: str
    sample: int
    step: str | None = Field(
        description="the step that proposed the sample; null for an imported one"
    )
    objective: str
    also: list[str]
    cheap_only: bool
    x: dict[str, Coordinate]
    state: str
    value: float | None
    ahead: int | None = Field(
        description="jobs before it in its queue; 1000 means that many or more"
    )
    why: list[str] = Field(description="why it is in this state, as sentences")
    attempts: list[AttemptStory] = Field(description="the latest 100, oldest first")
    promotion: PromotionView | None = Field(
        None, description="of a sample that a step promoted: why, and what it expected"
    )


class StepView(BaseModel):
    step: str
    kind: str
    objective: str | None
    number: int
    state: str
    due_seq: int
    due_at: str
    done_at: str | None
    faults: int
    fault: str | None
    record: dict[str, Any] | None = Field(
        description="what it read, seed, ratios, hyperparameters, versions, timings"
    )


class Estimate(BaseModel):
    mean: float | None
    deviation: float | None = Field(description="of the mean, without the noise")


class FrontItem(BaseModel):
    sample: int
    step: str | None
    x: dict[str, Coordinate]
    values: dict[str, float] = Field(description="as measured, of all outputs")
    estimates: dict[str, Estimate] | None = Field(
        None,
        description="of noisy objectives, what the models of the last step expect; null without noise or models",
    )


class NearlyFeasible(FrontItem):
    """A sample that breaks limits, but few or by little."""

    violation: float = Field(
        description="how far its values are beyond the limits, each as a share of the range of that output, summed"
    )
    broken_limits: list[str]


class FrontView(Page[FrontItem]):
    code: FrontCode | None = Field(
        None, description="why the front is empty; null if it is not"
    )
    detail: str | None = Field(None, description="the code as a sentence")
    least_violating: list[NearlyFeasible] = Field(
        [],
        description="without a feasible sample: those that break the limits least, at most 10",
    )


class WorkerFailures(BaseModel):
    infeasible: int = 0
    error: int = 0
    infrastructure: int = 0
    lost: int = Field(0, description="leases that expired and were never told")


class WorkerView(BaseModel):
    worker: str
    first_seen_at: str
    last_seen_at: str = Field(
        description="time of its last ask, tell, release or heartbeat"
    )
    alive: bool = Field(
        True,
        description="seen in the last two minutes and not ended, or it holds a job",
    )
    shared: bool = Field(
        False,
        description="two processes ask under this name; give each a name of its own",
    )
    drained: bool = Field(False, description="it gets no more jobs")
    studies: list[str] = Field([], description="the studies of its last ask")
    objectives: list[str] = []
    slots: int = Field(1, description="the most jobs that it ever asked for at once")
    jobs: list[int] = Field(description="leased to it now")
    done: int = Field(0, description="values told, including late ones and duplicates")
    failures: WorkerFailures = WorkerFailures()
    busy_share: float = Field(
        0.0,
        description="share of the time of its slots, from first to last seen, in which they held jobs",
    )


class WorkerName(Request):
    worker: WorkerText = Field(
        description="the name that it gives itself", examples=["node7-slot0"]
    )


class Imported(BaseModel):
    """What an import did or, on a dry run, would do."""

    rows: int = Field(description="evaluations read")
    complete: int = Field(description="new samples with the values of all objectives")
    partial: int = Field(description="new samples that lack values")
    values_added: int = Field(description="values that points of the study lacked")
    jobs: int = Field(description="jobs for missing values; only with `evaluate`")
    unchanged: int = Field(description="rows without anything new")
    ignored: int = Field(description="rows without any value")
    dry_run: bool


class Extend(Request):
    budget: int = Field(
        ge=1,
        le=MOST_BUDGET,
        strict=True,
        description="the new budget: full samples in all",
        examples=[120],
    )


class Stop(Request):
    cancel_running: bool = Field(
        False,
        strict=True,
        description="advise workers to stop what runs; otherwise it may finish",
    )


class Retry(Request):
    objectives: list[str] | None = Field(
        None,
        description="only failed jobs of these objectives; all objectives by default",
        examples=[["drag"]],
    )
    infeasible: bool = Field(
        False,
        strict=True,
        description="instead of failed jobs those that were reported as infeasible, with what was withdrawn for it",
    )


class CancelJob(Request):
    fail: bool = Field(
        False,
        strict=True,
        description="the job has failed for good; otherwise it counts as lost and is tried again",
    )


class CancelledJob(BaseModel):
    job: int
    state: str = Field(description="the job's state now")


class Retried(BaseModel):
    jobs: int = Field(description="number of failed jobs that are ready again")
