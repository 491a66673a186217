"""The route that Prometheus scrapes."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from app.api.security.access import READERS
from app.api.status.server_metrics import ServerMetrics

router = APIRouter(tags=["health"], dependencies=READERS)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "/metrics", summary="Metrics for Prometheus", response_class=PlainTextResponse
)
async def get_metrics(request: Request) -> Response:
    """In Prometheus' text format: jobs, workers, steps, lost leases, and the duration
    of requests at this server.
    """
    state = request.app.state
    metrics: ServerMetrics = state.metrics
    listeners = state.event_broadcaster.listeners
    waiting = len(state.ask_batcher.pending)
    content = await metrics.render(
        state.database, event_listeners=listeners, asks_waiting=waiting
    )
    return Response(content, media_type=CONTENT_TYPE)
