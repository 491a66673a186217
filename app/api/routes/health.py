"""Health checks for people, proxies and orchestrators."""

from functools import partial

from fastapi import APIRouter, Request

from app.api.dependencies import DatabaseDep
from app.api.status.bounded_poll import BoundedPoll
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
async def readyz(request: Request, database: DatabaseDep) -> Status:
    """Ready when the database responds and has the schema that this version needs."""
    polls: BoundedPoll[None] = request.app.state.readiness_polls
    await polls.result_of(partial(require_head, database))
    return Status(status="ready")
