"""GET /studies/{name}/convergence: is it still worth the money?"""

from pydantic import BaseModel, ConfigDict, Field

from counterpoise.wire.codes import Convergence


class ConvergencePoint(BaseModel):
    """What was known when one step was planned."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "step": "search:7",
                "number": 7,
                "at": "2026-11-17T20:00:00.000Z",
                "elapsed_s": 86400.0,
                "evaluated_full": 71,
                "slow_evaluations": 69,
                "slow_s": 241500.0,
                "hypervolume": 0.7312,
                "front": 12,
                "gain_per_slow_h": 0.0021,
            }
        }
    )

    step: str
    number: int = Field(
        description="of the search step; a closing step comes after the last one"
    )
    at: str = Field(description="when the step became due")
    elapsed_s: float = Field(description="since the study was created")
    evaluated_full: int | None = Field(description="settled full samples")
    slow_evaluations: int | None = Field(
        description="values of the slowest run known then; null if not recorded"
    )
    slow_s: float | None = Field(
        description="time that these values took in all; null if not recorded"
    )
    hypervolume: float | None
    front: int | None = Field(description="samples on the front")
    gain_per_slow_h: float | None = Field(
        description="gain since the point before, per hour of slow evaluation"
    )


class RecentGain(BaseModel):
    """What the latest slow evaluations added."""

    slow_evaluations: int | None
    slow_s: float | None
    steps: int
    gain: float = Field(description="of the hypervolume")
    share: float | None = Field(
        description="gain / hypervolume before; null if that was 0", examples=[0.003]
    )


class ConvergenceView(BaseModel):
    """Hypervolume and size of the front over steps, time and slow evaluations.

    At most `points` points, evenly spaced over the steps, the last step included.
    """

    study: str
    slow_run: str | None = Field(description="the objective of the slowest run")
    reference_point: dict[str, float] | None = Field(
        description="the same for all steps, in the user's units and directions"
    )
    exact: bool | None = Field(description="false above 5 objectives: approximated")
    steps: int = Field(description="search steps in all")
    points: list[ConvergencePoint]
    recent: RecentGain | None = Field(description="null before the second step")
    assessment: Convergence
    detail: str = Field(
        description="the assessment as a sentence",
        examples=["The last 12 slow runs (10 h) added 0.3 % to the hypervolume."],
    )
