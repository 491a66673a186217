"""The application: its routes, its middleware and what it starts and stops."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from app.api.batching.ask_batcher import AskBatcher
from app.api.batching.event_broadcaster import EventBroadcaster
from app.api.batching.tell_batcher import TellBatcher
from app.api.body_limit import BodyLimit
from app.api.metrics import ServerMetrics
from app.api.openapi import install_openapi
from app.api.problems import RESPONSES, install_problems
from app.api.request_log import RequestLog
from app.api.routes import (
    events,
    health,
    import_export,
    metrics,
    studies,
    work,
    workers,
)
from app.api.server_uptime import UptimeRecorder
from app.settings import Settings
from app.store.database import Database
from counterpoise import __version__


def create_app(settings: Settings) -> FastAPI:
    """Build the application.

    Its database must be at the newest schema when the application starts.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state = app.state
        state.settings = settings
        state.database = Database(settings.database_url)
        state.ask_batcher = AskBatcher(state.database, settings.heartbeat_s)
        state.tell_batcher = TellBatcher(state.database)
        state.event_broadcaster = EventBroadcaster(state.database)
        uptime = UptimeRecorder(state.database)
        for service in (state.ask_batcher, state.event_broadcaster, uptime):
            service.start()
        yield
        for service in (
            state.event_broadcaster,
            state.ask_batcher,
            state.tell_batcher,
            uptime,
        ):
            await service.stop()
        state.database.close()

    app = FastAPI(
        title="Counterpoise",
        version=__version__,
        summary="Asynchronous evaluation for optimisation whose objectives have very different evaluation costs",
        lifespan=lifespan,
        responses=RESPONSES,
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
        },  # ours are at /metrics and in the request log
    )
    app.state.metrics = ServerMetrics()
    add_routes(app)
    install_problems(app)
    install_openapi(app, with_tokens=settings.has_tokens)
    # The middleware added last is the outermost: a refused body still gets a request id
    # and a log line.
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.add_middleware(RequestLog, observe=app.state.metrics.observe_request)
    return app


def add_routes(app: FastAPI) -> None:
    # Not included as a router: FastAPI would match the most frequent requests twice.
    app.router.routes.extend(work.router.routes)
    for module in (studies, workers, import_export, events, metrics, health):
        app.include_router(module.router)
