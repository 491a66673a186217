"""GET /overview: the list of studies with a summary of each."""

from pydantic import BaseModel, ConfigDict, Field

from counterpoise.wire.views import HealthItem, StudySummary


class EtaView(BaseModel):
    """When a study may be finished, in seconds from now, as a range."""

    low_s: float | None
    high_s: float | None
    unknown: str | None = Field(description="why there is no range, as a sentence")


class StudyOverview(StudySummary):
    """A study with its health, expected end and recent hypervolume."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "wing",
                "phase": "search",
                "state": "active",
                "step": 7,
                "evaluated_full": 71,
                "planned_full": 76,
                "withdrawn": 0,
                "imported": 0,
                "budget": 120,
                "created_at": "2026-11-16T20:00:00.000Z",
                "finished_at": None,
                "ending": None,
                "health": [],
                "eta": {"low_s": 86400.0, "high_s": 108000.0, "unknown": None},
                "hypervolume": [0.61, 0.7, 0.72, 0.7312],
                "front": 12,
            }
        }
    )

    health: list[HealthItem]
    eta: EtaView
    hypervolume: list[float] = Field(
        description="at most 24 steps, evenly spaced, the last one included"
    )
    front: int | None = Field(description="samples on the front at the last step")
