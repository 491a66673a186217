"""GET /studies/{name}/balance: is the search biased?"""

from pydantic import BaseModel, ConfigDict, Field

from counterpoise.wire.codes import RatioSource


class ObjectiveBalance(BaseModel):
    """Evaluations of one objective in all."""

    objective: str
    cheap: bool
    ratio: float
    full: int = Field(description="values that belong to full samples; failures too")
    cheap_only: int = Field(
        description="values that belong to cheap-only samples; failures too"
    )
    superseded: int = Field(description="jobs that were no longer needed")
    per_full: float | None = Field(
        description="evaluations per evaluation of the slowest: the ratio in fact"
    )


class StepBalance(BaseModel):
    """What one search step proposed for one objective, and from where."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "step": "search:3",
                "number": 3,
                "objective": "mass",
                "ratio": 10.0,
                "full": 5,
                "cheap_only": 45,
                "sbp_low": 0.8,
                "sbp_high": 1.0,
                "full_sources": {"selected": 5},
                "cheap_sources": {"selected": 20, "population": 25},
            }
        }
    )

    step: str
    number: int
    objective: str
    ratio: float | None
    full: int
    cheap_only: int
    sbp_low: float | None = Field(
        description="least search bias penalty in the final population; null without it"
    )
    sbp_high: float | None
    full_sources: dict[str, int] = Field(
        description="by source: `selected`, `population`, `offspring`, `latin`"
    )
    cheap_sources: dict[str, int]


class BalanceView(BaseModel):
    """Cheap-only against full samples, by objective and step."""

    study: str
    ratio_source: RatioSource
    steps: int = Field(description="search steps in all")
    objectives: list[ObjectiveBalance]
    items: list[StepBalance] = Field(description="by step, then objective")
