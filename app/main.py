"""Puts the server together: the application, and the process that serves it."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING

import structlog
import uvicorn
from fastapi import FastAPI

from app.api.batching.ask_batcher import Desk
from app.api.batching.event_broadcaster import EventDesk
from app.api.batching.tell_batcher import TellDesk
from app.api.body_limit import BodyLimit
from app.api.openapi import install_document
from app.api.problems import RESPONSES, install_problems
from app.api.request_log import RequestLog
from app.api.routes import events, health, metrics, studies, work, workers
from app.api.routes import import_export as exchange
from app.errors import SettingsInvalid
from app.logs import configure_logs
from app.settings import Settings
from app.store.database import Database, open_existing
from app.store.upgrade import require_head, upgrade
from counterpoise import __version__
from counterpoise.child_processes import end_with_parent

if TYPE_CHECKING:
    from app.service.planning.replay import Replayed

log = structlog.stdlib.get_logger("counterpoise")
PLANNER_GRACE_S = 3.0  # for a step to be finished; one that is not is computed again


def create_app(settings: Settings) -> FastAPI:
    """The application on the database of these settings, which must be at head by the time it starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.settings = settings
        app.state.database = Database(settings.database_url)
        app.state.desk = Desk(app.state.database, settings.heartbeat_s)
        app.state.tell_desk = TellDesk(app.state.database)
        app.state.event_desk = EventDesk(app.state.database)
        app.state.desk.start()
        app.state.event_desk.start()
        yield
        await app.state.event_desk.stop()
        await app.state.desk.stop()
        await app.state.tell_desk.stop()
        app.state.database.close()

    app = FastAPI(
        title="Counterpoise",
        version=__version__,
        summary="Asynchronous evaluation for optimisation whose objectives have very different evaluation costs",
        lifespan=lifespan,
        responses=RESPONSES,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # what there is to know is at /metrics
    )
    app.router.routes.extend(work.router.routes)  # not included, which would be searched twice for every request
    for router in (
        studies.router,
        workers.router,
        exchange.router,
        events.router,
        metrics.router,
        health.router,
    ):
        app.include_router(router)
    install_problems(app)
    install_document(app, with_tokens=settings.has_tokens)
    # The last one added is the outermost: a refused body still gets its request id and its line in the log.
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.state.metrics = metrics.Metrics()
    app.add_middleware(RequestLog, observe=app.state.metrics.observe)
    return app


def prepare_database(settings: Settings) -> None:
    """SQLite is brought to head by whoever starts; PostgreSQL is shared, so an operator decides when."""
    database = Database(settings.database_url)
    try:
        if database.is_sqlite:
            upgrade(database)
        else:
            require_head(database)
    finally:
        database.close()


def migrate(settings: Settings) -> tuple[str | None, str]:
    """Bring the database to head; answers the schema before and after."""
    database = Database(settings.database_url)
    try:
        return upgrade(database)
    finally:
        database.close()


def replay(settings: Settings, *, study: str, step: str | None, report: "Callable[[Replayed], None]") -> bool:
    """Compute a step (None: every step that is done) again and report how it compares; True if all are equal."""
    from app.service.planning import replay as replaying  # here: it loads scikit-learn, which a server does not need

    database = open_existing(settings.database_url)
    try:
        require_head(database)
        equal = True
        for result in replaying.replay(database, study, step):
            report(result)
            equal = equal and result.equal
        return equal
    finally:
        database.close()


def plan(settings: Settings, *, with_parent: bool) -> None:
    """Run a planner until told to stop; with a parent, until that is gone."""
    # Imported here: a server fits no models, and starts in half the time without scikit-learn.
    from app.planner import planner

    configure_logs(settings)
    prepare_database(settings)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if with_parent:
        end_with_parent(stop.set, PLANNER_GRACE_S)  # what it still computes then is computed again
    planner.run(settings, stop)


class PlannerBeside:
    """A planner process beside this one, started again should it end, and gone when this one is."""

    def __init__(self, settings: Settings) -> None:
        # -P: a user's own `app` folder in the working directory must not be taken for ours.
        self._command = [sys.executable, "-P", "-c", "from counterpoise.cli import main; main()", "planner"]
        self._environment = {**os.environ, "COUNTERPOISE_DATABASE_URL": settings.database_url}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self._stop.is_set():
            command = [*self._command, "--with-parent"]
            with subprocess.Popen(command, env=self._environment, stdin=subprocess.PIPE) as process:  # noqa: S603
                while process.poll() is None and not self._stop.wait(0.2):
                    pass
                process.stdin.close()  # type: ignore[union-attr]
                try:
                    process.wait(PLANNER_GRACE_S + 2.0)
                except subprocess.TimeoutExpired:
                    process.kill()
            if not self._stop.is_set():
                log.warning("the planner ended and is started again", code=process.returncode)
                self._stop.wait(1.0)


def serve(settings: Settings, *, with_planner: bool) -> None:
    """Serve until told to stop (SIGINT, SIGTERM)."""
    configure_logs(settings)
    if not settings.has_tokens and not settings.on_loopback:
        raise SettingsInvalid(
            f"without tokens the server listens on loopback only, not on {settings.host};"
            " set COUNTERPOISE_ADMIN_TOKENS and COUNTERPOISE_WORKER_TOKENS, or use --host 127.0.0.1"
        )
    with bind(settings.host, settings.port) as listener:
        prepare_database(settings)
        host, port = listener.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        log.info(
            "listening", url=address, docs=f"{address}/docs", access="tokens" if settings.has_tokens else "loopback"
        )
        if settings.has_public_tokens:
            log.warning(
                "a token that begins with demo- is public, and lets everybody in who reaches this port;"
                " make one with: openssl rand -hex 24"
            )
        config = uvicorn.Config(
            create_app(settings),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=75,  # longer than a long poll: workers need not connect anew for every job
            timeout_graceful_shutdown=15,  # for who takes no answer
        )
        # What is loaded stays. To look through all of it for garbage would stop every request for a while.
        config.load()
        gc.collect()
        gc.freeze()
        with PlannerBeside(settings) if with_planner else nullcontext():
            Server(config).run(sockets=[listener])


class Server(uvicorn.Server):
    """Asks that wait are answered, and streams ended, when the server is told to stop; it would wait for them."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        application = self.config.app
        if isinstance(application, FastAPI) and hasattr(application.state, "desk"):
            application.state.desk.close()
            application.state.event_desk.close()
        super().handle_exit(sig, frame)


def bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)  # from here on nobody else can have the port, and clients may come
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsInvalid(
            f"cannot listen on {host} port {port}: {reason}; choose another with --host and --port"
        ) from None
    return listener
