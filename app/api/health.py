"""Is it alive, is it ready: for people, proxies and orchestrators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from app.api.problems import RESPONSES
from app.store.database import Database
from app.store.upgrade import require_head
from counterpoise.wire.problems import Problem, Status

router = APIRouter(tags=["health"], responses=RESPONSES)


def get_database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


@router.get("/healthz", summary="Is the server alive?")
async def healthz() -> Status:
    """Answers as long as the process runs; says nothing about the database."""
    return Status(status="ok")


@router.get("/readyz", summary="Can the server work?", responses={503: {"model": Problem}})
def readyz(database: Annotated[Database, Depends(get_database)]) -> Status:
    """Ready when the database is reachable and its schema is the one that this version needs."""
    require_head(database)
    return Status(status="ready")
