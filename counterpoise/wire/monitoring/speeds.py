"""GET /studies/{name}/speeds: which worker is slow."""

from pydantic import BaseModel, ConfigDict, Field


class WorkerSpeed(BaseModel):
    """The latest attempts of one worker at one run."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "worker": "node7",
                "objective": "drag",
                "done": 18,
                "failed": 1,
                "median_s": 2470.0,
                "pace": 1.8,
                "slow": True,
            }
        }
    )

    worker: str
    objective: str = Field(description="of the run")
    done: int
    failed: int = Field(description="failed or lost (`failed`, `expired`)")
    median_s: float | None = Field(
        description="of the attempts that returned a value; null without any"
    )
    pace: float | None = Field(
        description="`median_s` divided by the median of the other workers;"
        " null where there is nothing to compare"
    )
    slow: bool = Field(
        description="at least three runs, and a pace of 1.5 or more: look at its machine"
    )


class SpeedsView(BaseModel):
    study: str
    considered: int = Field(
        description="how many of the latest attempts of each run are read"
    )
    items: list[WorkerSpeed] = Field(description="the slowest first")
