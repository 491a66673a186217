"""Points of an engineer's own: evaluate one, exclude a sample, restore it."""

from pydantic import BaseModel, ConfigDict, Field

from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.work import Name, Request


class EvaluatePoint(Request):
    """The body of POST /studies/{name}/samples."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "x": {"span": 2.5, "ribs": 7, "skin": 0.001},
                "objectives": None,
                "outside_budget": False,
            }
        }
    )

    x: dict[str, Coordinate] = Field(description="every variable by name")
    objectives: list[Name] | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="only the runs of these objectives; by default all."
        " Such a partial sample is never part of the budget",
    )
    outside_budget: bool = Field(
        False, strict=True, description="do not count it towards the budget"
    )


class EvaluatedPoint(BaseModel):
    sample: int
    jobs: list[int] = Field(description="its jobs, one per run")
    outside_budget: bool


class Exclusion(BaseModel):
    sample: int
    excluded: bool = Field(
        description="whether front and models leave its values out from now on"
    )
