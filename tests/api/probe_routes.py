"""Routes for tests of what all routes share: they return, swallow or fail."""

from typing import Annotated

from fastapi import Body, FastAPI
from pydantic import BaseModel, Field

from app.main import create_app
from app.settings import Settings

SECRET = "hunter2"


class Part(BaseModel):
    low: float
    names: list[str] = Field(min_length=1)


def probe_app(settings: Settings) -> FastAPI:
    app = create_app(settings)

    @app.post("/echo")
    def echo(part: Part) -> Part:
        return part

    @app.post("/count")
    async def count(body: Annotated[dict[str, object], Body()]) -> int:
        return len(body)

    @app.get("/broken")
    def broken(limit: int = 1) -> None:
        token = SECRET  # a local variable
        assert token
        raise RuntimeError(f"a confidential detail {limit}")

    return app
