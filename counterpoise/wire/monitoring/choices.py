"""GET /studies/{name}/choices: designs of the front that stand out."""

from pydantic import BaseModel, ConfigDict, Field

from counterpoise.wire.codes import Choice
from counterpoise.wire.coordinates import Coordinate


class ChoiceView(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "code": "best",
                "objective": "mass",
                "sample": 61,
                "x": {"span": 2.5, "ribs": 7, "skin": 0.001},
                "values": {"mass": 12.1, "drag": 0.31},
            }
        }
    )

    code: Choice
    objective: str | None = Field(description="of `best`: the objective it is best in")
    sample: int
    x: dict[str, Coordinate]
    values: dict[str, float]


class ChoicesView(BaseModel):
    """The best design of the front in each objective, the most even compromise, and the
    one nearest to a target; empty before the first full sample.
    """

    study: str
    items: list[ChoiceView]
