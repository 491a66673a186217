"""Is it alive, is it ready: for people, proxies and orchestrators."""

from fastapi import APIRouter

from app.api.dependencies import TheDatabase
from app.store.upgrade import require_head
from counterpoise.wire.problems import Problem, Status

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is the server alive?")
async def healthz() -> Status:
    """Answers as long as the process runs; says nothing about the database."""
    return Status(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", summary="Can the server work?", responses={503: {"model": Problem}})
def readyz(database: TheDatabase) -> Status:
    """Ready when the database is reachable and its schema is the one that this version needs."""
    require_head(database)
    return Status(status="ready")
