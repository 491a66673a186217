"""Every code that the service stores or sends.

Programs compare these; sentences beside them are for people.
"""

from enum import StrEnum


class Phase(StrEnum):
    """How far a study has come."""

    INITIAL = "initial"
    SEARCH = "search"
    FINISHED = "finished"


class StudyState(StrEnum):
    """Whether a study hands out jobs and plans steps."""

    ACTIVE = "active"
    PAUSED = "paused"


class Ending(StrEnum):
    """Why a study is finished."""

    BUDGET_USED = "budget_used"
    STOPPED = "stopped"
    SPACE_EXHAUSTED = "space_exhausted"


class JobState(StrEnum):
    READY = "ready"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    SUPERSEDED = "superseded"

    @property
    def is_settled(self) -> bool:
        return self not in (JobState.READY, JobState.LEASED)


class Outcome(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    FAILED = "failed"
    LATE = "late"  # a value told after its lease had expired
    DUPLICATE = "duplicate"  # a value told after another lease's value
    EXPIRED = "expired"
    RELEASED = "released"
    OVERTAKEN = (
        "overtaken"  # the value became known from elsewhere while the attempt ran
    )

    @property
    def was_told(self) -> bool:
        """Whether the worker itself reported it."""
        return self in (Outcome.DONE, Outcome.FAILED, Outcome.LATE, Outcome.DUPLICATE)


class FailureKind(StrEnum):
    """Why there is no value.

    Workers report the first three; `lost` is recorded after too many lost leases.
    """

    INFEASIBLE = "infeasible"
    ERROR = "error"
    INFRASTRUCTURE = "infrastructure"
    LOST = "lost"


class StepKind(StrEnum):
    INITIAL = "initial"
    STREAM = "stream"
    SEARCH = "search"
    CLOSING = "closing"


class StepState(StrEnum):
    DUE = "due"
    DONE = "done"


class RatioSource(StrEnum):
    """Where the cost ratios of a study come from."""

    DECLARED = "declared"
    MEASURED = "measured"
    ASSUMED = "assumed"


class EmptyReason(StrEnum):
    """Why an ask got no jobs."""

    PAUSED = "paused"
    PLANNING = "planning"
    ALL_LEASED = "all_leased"
    FINISHED = "finished"
    NO_SUCH_STUDY = "no_such_study"
    NO_SUCH_OBJECTIVE = "no_such_objective"
    NO_STUDIES = "no_studies"
    DRAINED = "drained"


class CancelReason(StrEnum):
    """Why a worker should stop an evaluation, or no longer holds its lease."""

    TIMEOUT = "timeout"
    STUDY_STOPPED = "study_stopped"
    STUDY_DELETED = "study_deleted"
    LEASE_UNKNOWN = "lease_unknown"
    LEASE_ENDED = "lease_ended"
    LEASE_EXPIRED = "lease_expired"
    LEASED_TO_ANOTHER = "leased_to_another"
    VALUE_KNOWN = "value_known"
    JOB_FAILED = "job_failed"
    SUPERSEDED = "superseded"


class HealthCode(StrEnum):
    """What needs an engineer's attention."""

    PAUSED = "paused"
    FINISHED_EARLY = "finished_early"
    WORKERS_DRAINED = "workers_drained"
    NO_WORKER = "no_worker"
    STEP_FAILED = "step_failed"
    PLANNER_MISSING = "planner_missing"
    JOBS_FAILED = "jobs_failed"


class EventKind(StrEnum):
    CREATED = "created"
    PAUSED = "paused"
    RESUMED = "resumed"
    STOPPED = "stopped"
    EXTENDED = "extended"
    RETRIED = "retried"
    IMPORTED = "imported"
    PHASE = "phase"
    STEP_DUE = "step_due"
    STEP = "step"
    STEP_FAILED = "step_failed"
    DONE = "done"
    FAILED = "failed"
    FINISHED = "finished"
    # Of the stream itself, not of a study's sequence:
    DELETED = "deleted"
    RESET = "reset"
    CLOSED = "closed"
