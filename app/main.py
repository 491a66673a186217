"""Puts the server together: the application, and the process that serves it."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
import uvicorn
from fastapi import FastAPI

from app.api import health
from app.api.body_limit import BodyLimit
from app.api.problems import install_problems
from app.api.request_log import RequestLog
from app.errors import SettingsInvalid
from app.logs import configure_logs
from app.settings import Settings
from app.store.database import Database
from app.store.upgrade import require_head, upgrade
from counterpoise import __version__

log = structlog.stdlib.get_logger("counterpoise")


def create_app(settings: Settings) -> FastAPI:
    """The application on the database of these settings, which must be at head by the time it starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.database = Database(settings.database_url)
        yield
        app.state.database.close()

    app = FastAPI(
        title="Counterpoise",
        version=__version__,
        summary="Asynchronous evaluation for optimisation whose objectives cost very different times",
        lifespan=lifespan,
    )
    app.include_router(health.router)
    install_problems(app)
    # The last one added is the outermost: a refused body still gets its request id and its line in the log.
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.add_middleware(RequestLog)
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


def serve(settings: Settings) -> None:
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
        config = uvicorn.Config(create_app(settings), log_config=None, access_log=False, server_header=False)
        uvicorn.Server(config).run(sockets=[listener])


def bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsInvalid(
            f"cannot listen on {host} port {port}: {reason}; choose another with --host and --port"
        ) from None
    return listener
