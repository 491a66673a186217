"""GET /studies/{name}/timeline: what worker slots did, and why jobs wait."""

from pydantic import BaseModel, ConfigDict, Field

from counterpoise.wire.codes import FailureKind, Outcome, WaitReason


class TimelineItem(BaseModel):
    """One attempt (`count` is 1), or a band: several short attempts in one slot."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "worker": "node7",
                "slot": 0,
                "start": "2026-11-17T20:00:00.000Z",
                "end": "2026-11-17T20:41:10.000Z",
                "count": 1,
                "failed": 0,
                "busy_s": 2470.0,
                "objectives": {"drag": 1},
                "job": 17,
                "sample": 5,
                "attempt": 1,
                "outcome": "done",
                "failure": None,
                "cheap_only": False,
                "expected_end": None,
            }
        }
    )

    worker: str
    slot: int = Field(description="from 0; a row of the chart is (worker, slot)")
    start: str
    end: str | None = Field(description="null while it runs")
    count: int = Field(description="attempts in it; above 1 it is a band")
    failed: int = Field(
        description="how many of them failed or were lost (`failed`, `expired`)"
    )
    busy_s: float = Field(description="time in which an attempt ran, gaps left out")
    objectives: dict[str, int] = Field(description="attempts by objective of the run")
    job: int | None = Field(None, description="of a single attempt; null for a band")
    sample: int | None = None
    attempt: int | None = Field(None, description="its number; above 1 it is a retry")
    outcome: Outcome | None = Field(None, description="null while it runs")
    failure: FailureKind | None = None
    cheap_only: bool | None = None
    expected_end: str | None = Field(
        None,
        description="of a running attempt: when a run of median length ends;"
        " null when unknown, in the past when it takes longer",
    )


class SlotRow(BaseModel):
    """A row of the chart."""

    worker: str
    slot: int


class Utilisation(BaseModel):
    """How busy the slots were that ran one objective, in the span of the page.

    Seconds, so that pages can be added up.
    """

    objective: str
    slots: int = Field(description="that ran this objective in the span")
    busy_s: float = Field(description="time in which they ran this objective")
    other_s: float = Field(description="time in which they ran other objectives")
    idle_s: float = Field(
        description="time in which they ran nothing, from the first run of each slot to the end"
        " of the span or of the study, or until its worker was seen last"
    )
    share: float | None = Field(
        description="(busy_s + other_s) / all; null without any run"
    )


class QueueDepth(BaseModel):
    """The jobs of one objective that are not settled, now."""

    objective: str
    ready: int
    leased: int
    waiting: int = Field(
        0,
        description="jobs that begin when cheaper runs have not ruled their sample out",
    )
    waiting_s: float | None = Field(
        description="how long the first ready job has waited; null if none is ready"
    )
    reason: WaitReason | None = Field(
        description="why jobs wait; null if none is ready"
    )
    detail: str | None = Field(description="the reason as a sentence")


class Timeline(BaseModel):
    """Attempts by worker slot, in the order in which they began.

    Slots are assigned greedily: an attempt takes the lowest slot of its worker that is
    free when it begins. `next`, given as `cursor` with the same parameters, continues
    after `until`, with the same slots.
    """

    start: str = Field(description="as asked for, else when the study was created")
    end: str = Field(description="as asked for, else now")
    until: str = Field(description="this page contains what began before this time")
    now: str = Field(description="the server's time")
    resolution_s: float = Field(
        description="attempts shorter than this are merged with their neighbours"
    )
    slots: list[SlotRow] = Field(description="of the items of this page, in order")
    items: list[TimelineItem]
    next: str | None
    utilisation: list[Utilisation]
    queues: list[QueueDepth]
