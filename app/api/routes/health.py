"""Health checks for people, proxies and orchestrators."""

from fastapi import APIRouter

from app.api.dependencies import DatabaseDep
from app.store.upgrade import require_head
from counterpoise.wire.problems import Problem, Status

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is the server alive?")
async def healthz() -> Status:
    """Responds while the process runs, whatever the state of the database."""
    return Status(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get(
    "/readyz", summary="Is the server ready?", responses={503: {"model": Problem}}
)
def readyz(database: DatabaseDep) -> Status:
    """Ready when the database is reachable and has the schema that this version needs."""
    require_head(database)
    return Status(status="ready")
