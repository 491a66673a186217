"""The application: its routes, its middleware and what it starts and stops."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from app.api.batching.ask_batcher import AskBatcher
from app.api.batching.event_broadcaster import EventBroadcaster
from app.api.batching.tell_batcher import TellBatcher
from app.api.openapi.document import install_openapi, operation_id
from app.api.problems import RESPONSES, install_problems
from app.api.request_log import RequestLog
from app.api.routes import (
    choices,
    events,
    health,
    import_export,
    metrics,
    monitoring,
    points,
    session,
    studies,
    work,
    workers,
)
from app.api.security.authentication import Authentication
from app.api.security.body_limit import BodyLimit
from app.api.security.login_limit import LoginLimit
from app.api.status.bounded_poll import BoundedPoll
from app.api.status.server_metrics import ServerMetrics
from app.api.status.server_uptime import UptimeRecorder
from app.dashboard import routes as dashboard
from app.dashboard.prefix import PrefixRedirect
from app.service.models.prediction_process import PredictionProcess
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
        state.readiness_polls = BoundedPoll[None]()
        state.prediction_process = PredictionProcess(settings.database_url)
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
        state.prediction_process.close()
        state.database.close()

    app = FastAPI(
        title="Counterpoise",
        version=__version__,
        summary="Asynchronous evaluation for optimisation whose objectives have very different evaluation costs",
        lifespan=lifespan,
        docs_url=None,  # the dashboard serves both pages offline
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
        responses=RESPONSES,
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
        },  # ours are at /metrics and in the request log
    )
    app.root_path = settings.root_path  # of a proxy
    app.state.metrics = ServerMetrics()
    app.state.login_limit = LoginLimit(time.monotonic)
    add_routes(app)
    install_problems(app)
    install_openapi(app, with_tokens=settings.has_tokens)
    # The middleware added last is the outermost: a refused body still gets a request id
    # and a log line.
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.add_middleware(Authentication, settings=settings)
    if settings.root_path:
        app.add_middleware(PrefixRedirect, prefix=settings.root_path)
    app.add_middleware(RequestLog, observe=app.state.metrics.observe_request)
    return app


def add_routes(app: FastAPI) -> None:
    # Not included as a router: FastAPI would match the most frequent requests twice.
    app.router.routes.extend(work.router.routes)
    for module in (
        studies,
        choices,
        monitoring,
        points,
        session,
        workers,
        import_export,
        events,
        metrics,
        health,
        dashboard,
    ):
        app.include_router(module.router)
