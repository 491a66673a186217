"""/studies/{name}/predictions: what the models of the last step predict."""

from pydantic import BaseModel, ConfigDict, Field

from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.work import Request

MOST_POINTS = 1000


class PredictionPoints(Request):
    """The body of POST /studies/{name}/predictions."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"points": [{"span": 2.5, "ribs": 7, "skin": 0.001}]}
        }
    )

    points: list[dict[str, Coordinate]] = Field(
        min_length=1, max_length=MOST_POINTS, description="every variable by name"
    )


class Prediction(BaseModel):
    """At one point, in the user's units and directions."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "x": {"span": 2.5, "ribs": 7, "skin": 0.001},
                "mean": {"mass": 12.1, "drag": 0.31},
                "deviation": {"mass": 0.1, "drag": 0.04},
            }
        }
    )

    x: dict[str, Coordinate]
    mean: dict[str, float | None] = Field(
        description="by objective; null where there is no model"
    )
    deviation: dict[str, float | None]


class PredictionsView(BaseModel):
    """By the models of one step.

    GET returns the predicted front: the points of the step's final population whose
    predicted means are nondominated. POST returns the points asked for, in their order.
    """

    study: str
    step: str | None = Field(
        description="the step whose models predict; null before the first search step, without items then"
    )
    number: int | None
    items: list[Prediction]
