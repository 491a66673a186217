"""Requests and responses of workers: ask, tell, heartbeat, release."""

import json
from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from counterpoise.wire.codes import EmptyReason, FailureKind
from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.text import CONTROL, printable

ReportedFailure = Literal[
    FailureKind.INFEASIBLE, FailureKind.ERROR, FailureKind.INFRASTRUCTURE
]
# No database keeps a NUL, terminals act on other control characters, and no name needs
# one.
_NAME_PATTERN = f"^[^{CONTROL}]+$"
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=100, pattern=_NAME_PATTERN)
]
WorkerText = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=_NAME_PATTERN)
]
Instance = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z._-]{1,64}$")]
Token = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Id = Annotated[int, Field(ge=1, le=2**53, strict=True)]
# Beyond this the squares that models are made of overflow; a penalty need not be
# larger.
LARGEST = 1e100
# SQLite stores no negative zero; so that all databases return the same, none does.
Value = Annotated[
    float,
    Field(strict=True, allow_inf_nan=False, ge=-LARGEST, le=LARGEST),
    AfterValidator(lambda value: value + 0.0),
]
MOST_TELLS = 256
# Of an ask. They are stored with the worker; one that evaluates more asks for all.
MOST_NAMES = 100
LONGEST_S = 1e10  # three centuries
DEEPEST = 100
ALL = "*"  # among the names of an ask: every study, or every objective


def matches(wanted: Collection[str], name: str) -> bool:
    """Whether the names that a worker asks for include this one."""
    return ALL in wanted or name in wanted


def _without_nul(text: object) -> object:
    """The end of a log may contain anything; a failure is not refused for it."""
    return printable(text.replace("\x00", "\ufffd")) if isinstance(text, str) else text


class Request(BaseModel):
    """Unknown fields are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid")


def _check_depth(value: object, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} deep")
    items: Iterable[object] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list):
        items = value
    for item in items:
        _check_depth(item, depth + 1)


class Ask(Request):
    worker: WorkerText = Field(
        description="a name for this worker, the same each time",
        examples=["node7-slot0"],
    )
    studies: list[Name] = Field(
        min_length=1,
        max_length=MOST_NAMES,
        description='names, or ["*"] for all',
        examples=[["wing"]],
    )
    objectives: list[Name] = Field(
        min_length=1,
        max_length=MOST_NAMES,
        description='names, or ["*"] for all',
        examples=[["mass"]],
    )
    instance: Instance | None = Field(
        None,
        description="a random number of this worker's process, drawn when it starts: tells processes that share a"
        " name apart",
        examples=["5f0c63f2"],
    )
    max_jobs: int = Field(
        1, strict=True, ge=1, le=256, description="the largest number of jobs to lease"
    )
    wait_s: float = Field(
        0.0,
        strict=True,
        ge=0.0,
        le=60.0,
        description="how long to wait for a job if none is ready",
    )


class Job(BaseModel):
    job: int
    lease: str = Field(description="sent with tell, heartbeat and release")
    study: str
    sample: int
    objective: str
    also: list[str] = Field(
        description="objectives whose values come out of the same run"
    )
    x: dict[str, Coordinate] = Field(description="the point, in the study's units")
    attempt: int
    seed: int = Field(
        description="for simulations that need one; the same for every attempt"
    )
    expires_at: str = Field(
        description="without a heartbeat the job is given to another worker after this time"
    )
    heartbeat_s: float = Field(description="send a heartbeat this often")
    timeout_s: float | None = Field(
        description="heartbeats do not extend the lease beyond this time after its start"
    )


class Asked(BaseModel):
    jobs: list[Job]
    reason: EmptyReason | None = Field(None, description="why there are no jobs")
    detail: str | None = Field(None, description="the reason as a sentence")
    retry_after_s: float | None = None


class Failure(Request):
    kind: ReportedFailure = Field(
        # Otherwise generators would name the type `FailureKind`, a name that is taken
        title="Reported kind",
        description="`infeasible`: the point has no value, not retried; `error`: the simulation failed, retried;"
        " `infrastructure`: licence or node, retried",
    )
    message: Annotated[
        str, StringConstraints(max_length=20_000), BeforeValidator(_without_nul)
    ] = Field("", description="for people, for example the end of a log")


class Tell(Request):
    """Either a `value` or a `failure`."""

    job: Id = Field(description="as returned by /ask")
    lease: Token = Field(description="as returned by /ask with the job")
    value: Value | None = Field(
        None, description="in the study's units; either this or `failure`"
    )
    failure: Failure | None = Field(None, description="why there is no value")
    also: dict[str, Value] = Field(
        {}, description="values of the objectives that the job listed in `also`"
    )
    duration_s: Value | None = Field(
        None,
        ge=0,
        le=LONGEST_S,
        description="how long the evaluation took, by a monotonic clock",
    )
    metadata: dict[str, Any] | None = Field(
        None, description="anything worth keeping; up to 20,000 characters of JSON"
    )

    @field_validator("metadata")
    @classmethod
    def _storable(cls, metadata: dict[str, Any] | None) -> dict[str, Any] | None:
        """Python reads more from JSON than databases store: NaN, NUL, halves of
        surrogate pairs.
        """
        _check_depth(metadata)
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
        text.encode()  # raises a ValueError, as dumps does
        if "\\u0000" in text.replace("\\\\", ""):
            raise ValueError("NUL characters cannot be stored")
        return metadata

    @model_validator(mode="after")
    def _value_or_failure(self) -> "Tell":
        if (self.value is None) == (self.failure is None):
            raise ValueError("give either `value` or `failure`")
        if self.failure is not None and self.also:
            raise ValueError("`also` goes with a `value`")
        return self


class Told(BaseModel):
    """The response to one tell."""

    job: int
    status: int = Field(
        description="200 recorded; 404 unknown job or lease; 409 this lease has told another result; 422 invalid"
    )
    state: str | None = Field(None, description="the job's state now")
    detail: str = Field(description="what was done with it")


class Leases(Request):
    leases: list[Token] = Field(
        min_length=1,
        max_length=1000,
        description="as returned by /ask with their jobs",
        examples=[["0123456789abcdef0123456789abcdef"]],
    )


class Goodbye(Request):
    worker: WorkerText = Field(
        description="the name that it gave to /ask", examples=["node7-slot0"]
    )
    instance: Instance = Field(
        description="of the process that has ended, as given to /ask",
        examples=["5f0c63f2"],
    )


class Alive(BaseModel):
    """The response to the heartbeat of one lease."""

    lease: str
    expires_at: str | None = Field(
        description="the new deadline; null if the worker no longer holds the lease"
    )
    cancel: bool = Field(description="stop evaluating: the value is no longer needed")
    reason: str | None = Field(
        None,
        description="why to cancel, or why the lease is lost: `timeout`, `study_stopped`, `study_deleted`,"
        " `lease_unknown`, `lease_ended`, `lease_expired`, `leased_to_another`, `value_known`, `job_failed`,"
        " `superseded`, `sample_infeasible` or `cancelled`",
    )
    detail: str | None = Field(None, description="the reason as a sentence")


class HeartbeatAnswer(BaseModel):
    leases: list[Alive]


class Released(BaseModel):
    released: list[str] = Field(
        description="leases that were held and are released now"
    )
