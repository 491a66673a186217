"""Events of a study, as a stream sends them."""

from typing import Any

from pydantic import BaseModel, Field


class Event(BaseModel):
    id: str = Field(
        description="resume after it; empty if the event has no place of its own"
    )
    kind: str
    study: str | None = None
    seq: int | None = Field(None, description="its place in the study's sequence")
    at: str | None = None
    data: dict[str, Any] = Field(
        description="everything that the event contains, including study, seq and at"
    )
