"""The command `serve`: listens, prepares the database and runs the application under
uvicorn.
"""

import gc
import socket
from contextlib import nullcontext
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from app.api.security.http_protocol import LimitedHttpProtocol
from app.errors import SettingsInvalid
from app.logs import configure_logs
from app.main import create_app
from app.migrate import prepare_database
from app.planner_process import PlannerSupervisor
from app.settings import Settings

log = structlog.stdlib.get_logger("counterpoise")
BACKLOG = 2048
# Longer than a long poll, so that workers keep their connection between jobs
KEEP_ALIVE_S = 75
SHUTDOWN_S = 15  # after this, clients that do not read their response are disconnected


def serve(settings: Settings, *, with_planner: bool) -> None:
    """Serve until SIGINT or SIGTERM."""
    configure_logs(settings)
    if not settings.has_tokens and not settings.on_loopback:
        raise SettingsInvalid(
            f"without tokens the server listens on loopback only, not on {settings.host};"
            " set COUNTERPOISE_ADMIN_TOKENS and COUNTERPOISE_WORKER_TOKENS, or use --host 127.0.0.1"
        )
    with bind(settings.host, settings.port) as listener:
        prepare_database(settings)
        log_start(settings, url_of(listener))
        config = configure_uvicorn(settings)
        with PlannerSupervisor(settings) if with_planner else nullcontext():
            Server(config).run(sockets=[listener])


def bind(host: str, port: int) -> socket.socket:
    """Listen before anything else is done: clients may connect from here on, and the
    port is taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsInvalid(
            f"cannot listen on {host} port {port}: {reason}; choose another with --host and --port"
        ) from None
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    is_ipv6 = ":" in host
    return f"http://[{host}]:{port}" if is_ipv6 else f"http://{host}:{port}"


def log_start(settings: Settings, url: str) -> None:
    access = "tokens" if settings.has_tokens else "loopback"
    log.info(
        "listening",
        url=url,
        dashboard=f"{url}{settings.root_path}/",
        docs=f"{url}{settings.root_path}/docs",
        access=access,
    )
    if settings.has_public_tokens:
        log.warning(
            "a token that begins with demo- is public: anyone who can reach this port can use it;"
            " make a secret one with: openssl rand -hex 24"
        )


def configure_uvicorn(settings: Settings) -> uvicorn.Config:
    config = uvicorn.Config(
        create_app(settings),
        http=LimitedHttpProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    config.load()
    # The loaded modules stay for good: exclude them from garbage collection, whose
    # pauses stop every request.
    gc.collect()
    gc.freeze()
    return config


class Server(uvicorn.Server):
    """Ends waiting asks and event streams on a signal; uvicorn alone would wait until
    they end by themselves.
    """

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        application = self.config.app
        if isinstance(application, FastAPI) and hasattr(
            application.state, "ask_batcher"
        ):
            application.state.ask_batcher.close()
            application.state.event_broadcaster.close()
        super().handle_exit(sig, frame)
