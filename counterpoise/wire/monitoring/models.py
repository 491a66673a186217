"""GET /studies/{name}/models: can the models be trusted?"""

from pydantic import BaseModel, ConfigDict, Field

from counterpoise.wire.codes import ModelAssessment


class ModelAtStep(BaseModel):
    """How one output's model was fitted at one step."""

    step: str
    number: int
    size: int = Field(description="values that it was fitted to")
    skill: float | None = Field(
        description="leave-one-out Q2: 1 is perfect, 0 no better than the mean"
    )
    error: float | None = Field(
        description="leave-one-out error, as a share of the standard deviation of the values: sqrt(1 - skill)"
    )
    calibration: float | None = Field(
        description="share of leave-one-out residuals within 2 deviations; ideally about 0.95"
    )


class Forecast(BaseModel):
    """A value, and what the model predicted of it before it was known."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "sample": 61,
                "step": "search:3",
                "number": 3,
                "predicted": 12.1,
                "deviation": 0.4,
                "observed": 11.7,
                "surprise": -1.0,
            }
        }
    )

    sample: int
    step: str
    number: int
    predicted: float = Field(description="mean, in the user's units and direction")
    deviation: float = Field(description="predicted standard deviation")
    observed: float
    surprise: float = Field(description="(observed - predicted) / deviation")


class OutputModel(BaseModel):
    objective: str
    unit: str | None
    direction: str | None = Field(description="null for a constraint")
    assessment: ModelAssessment
    detail: str = Field(description="the assessment as a sentence")
    steps: list[ModelAtStep]
    forecasts: list[Forecast] = Field(
        description="of the latest full samples whose values came in, oldest first"
    )
    within_two: float | None = Field(
        description="share of these forecasts within 2 deviations; null without any"
    )


class ModelsView(BaseModel):
    """Skill and calibration over steps, and predictions against what was observed."""

    study: str
    steps: int = Field(description="search steps in all")
    outputs: list[OutputModel]
