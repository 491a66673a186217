"""The overview of workers, and draining one."""

from fastapi import APIRouter

from app.api.dependencies import TheDatabase, ThePage
from app.api.routes.studies import ADMINS, READERS, page
from app.service.work import workers
from counterpoise.wire.views import Page, WorkerName, WorkerView

router = APIRouter(tags=["workers"])


@router.get("/workers", summary="Who is there, and what they did", dependencies=READERS)
def get_workers(database: TheDatabase, window: ThePage) -> Page[WorkerView]:
    """Everybody who has ever asked: when last seen, what they take and hold, how their jobs ended."""
    return page(workers.list_workers(database, window.after, window.limit), window)


# The name is in the body: it may hold anything, slashes too.
@router.post("/workers/drain", summary="Give a worker no more jobs", dependencies=ADMINS)
def post_drain(which: WorkerName, database: TheDatabase) -> WorkerView:
    """What it holds goes on; its asks, waiting ones too, are answered with the reason `drained`."""
    return workers.drain(database, which.worker, drained=True)


@router.post("/workers/undrain", summary="Give it jobs again", dependencies=ADMINS)
def post_undrain(which: WorkerName, database: TheDatabase) -> WorkerView:
    """From its next ask on."""
    return workers.drain(database, which.worker, drained=False)
