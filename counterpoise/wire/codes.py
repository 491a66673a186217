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
    WAITING = "waiting"  # for the cheap runs of its sample
    READY = "ready"
    LEASED = "leased"
    DONE = "done"
    INFEASIBLE = "infeasible"  # a result: the point has no value
    FAILED = "failed"
    SUPERSEDED = "superseded"

    @property
    def is_settled(self) -> bool:
        return self not in (JobState.WAITING, JobState.READY, JobState.LEASED)


class Outcome(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    FAILED = "failed"
    LATE = "late"  # a value told after its lease had expired
    DUPLICATE = "duplicate"  # a value told after another lease's value
    EXPIRED = "expired"
    RELEASED = "released"
    CANCELLED = "cancelled"  # by an engineer, while the attempt ran
    # The value became known from elsewhere while the attempt ran
    OVERTAKEN = "overtaken"

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
    SAMPLE_INFEASIBLE = "sample_infeasible"
    CANCELLED = "cancelled"


class HealthCode(StrEnum):
    """What needs an engineer's attention."""

    PAUSED = "paused"
    FINISHED_EARLY = "finished_early"
    WORKERS_DRAINED = "workers_drained"
    NO_WORKER = "no_worker"
    STEP_FAILED = "step_failed"
    PLANNER_MISSING = "planner_missing"
    JOBS_FAILED = "jobs_failed"
    RUN_HANGS = "run_hangs"
    SLOTS_IDLE = "slots_idle"
    WORKER_NAME_SHARED = "worker_name_shared"
    NO_FEASIBLE_SAMPLE = "no_feasible_sample"


class FrontCode(StrEnum):
    """Why a study has no front."""

    NO_SAMPLE = "no_complete_sample"
    NO_FEASIBLE_SAMPLE = "no_feasible_sample"


class WaitReason(StrEnum):
    """Why ready jobs of an objective wait."""

    PAUSED = "paused"
    NO_WORKER = "no_worker"
    WORKERS_DRAINED = "workers_drained"
    WORKERS_BUSY = "workers_busy"
    NEXT_ASK = "next_ask"  # a worker has a free slot
    BACKING_OFF = "backing_off"  # after a failure, before the next attempt


class Convergence(StrEnum):
    """Whether more slow evaluations still improve the front."""

    TOO_EARLY = "too_early"  # fewer than two steps to compare
    IMPROVING = "improving"
    SLOWING = "slowing"
    STALLED = "stalled"


class ModelAssessment(StrEnum):
    """How far the model of one output can be trusted."""

    UNKNOWN = "unknown"  # no model yet, or too few values
    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    OVERCONFIDENT = "overconfident"  # errors are larger than it predicts


class Choice(StrEnum):
    """Why a design of the front stands out."""

    BEST = "best"  # in one objective
    KNEE = "knee"  # the most even compromise
    NEAREST = "nearest"  # to the engineer's target


class EventKind(StrEnum):
    CREATED = "created"
    PAUSED = "paused"
    RESUMED = "resumed"
    STOPPED = "stopped"
    EXTENDED = "extended"
    RETRIED = "retried"
    IMPORTED = "imported"
    REQUESTED = "requested"  # a point of the engineer's own
    EXCLUDED = "excluded"  # a sample, from front and models
    RESTORED = "restored"
    PHASE = "phase"
    STEP_DUE = "step_due"
    STEP = "step"
    STEP_FAILED = "step_failed"
    DONE = "done"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"  # a sample that a run has ruled out
    CANCELLED = "cancelled"  # a job, by an engineer
    FINISHED = "finished"
    # Of the stream itself, not of a study's sequence:
    DELETED = "deleted"
    RESET = "reset"
    CLOSED = "closed"
