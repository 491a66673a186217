"""The list of workers, and draining one."""

from fastapi import APIRouter

from app.api.dependencies import DatabaseDep
from app.api.paging import PageRequestDep, to_page
from app.api.security.access import ADMINS, READERS
from app.service.work import workers
from counterpoise.wire.views import Page, WorkerName, WorkerView

router = APIRouter(tags=["workers"])


@router.get("/workers", summary="List workers", dependencies=READERS)
def get_workers(database: DatabaseDep, page: PageRequestDep) -> Page[WorkerView]:
    """All workers that have ever asked: when last seen, what they evaluate and hold,
    how their jobs ended.
    """
    return to_page(workers.list_workers(database, page.after, page.limit), page)


# The name is in the body, not in the path: it may contain slashes.
@router.post(
    "/workers/drain", summary="Stop giving jobs to a worker", dependencies=ADMINS
)
def post_drain(body: WorkerName, database: DatabaseDep) -> WorkerView:
    """It finishes the jobs that it holds.

    Its asks, waiting ones too, return the reason `drained`.
    """
    return workers.drain(database, body.worker, drained=True)


@router.post(
    "/workers/undrain", summary="Give jobs to a worker again", dependencies=ADMINS
)
def post_undrain(body: WorkerName, database: DatabaseDep) -> WorkerView:
    """Takes effect from its next ask."""
    return workers.drain(database, body.worker, drained=False)
