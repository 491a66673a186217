"""A server and a planner in this process, which start faster than processes of their
own.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import uvicorn

from app.main import create_app
from app.planner.planner import plan_one
from app.server import Server, bind
from app.service.work.expire import clean_up, expire_leases
from app.settings import load_settings
from app.store.database import Database
from tests.e2e.processes import eventually


@contextmanager
def serving_here(database_url: str) -> Iterator[str]:
    """Yields the URL."""
    with bind("127.0.0.1", 0) as listener, planning_here(database_url):
        server = Server(
            uvicorn.Config(
                create_app(load_settings(database_url=database_url)), log_config=None
            )
        )
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        eventually(lambda: server.started, "the server")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.handle_exit(signal.SIGTERM, None)  # also ends asks that wait
            thread.join()


@contextmanager
def planning_here(database_url: str) -> Iterator[None]:
    stopped = threading.Event()
    with closing(Database(database_url)) as database:

        def plan() -> None:
            while not stopped.is_set():
                if not plan_one(database):
                    stopped.wait(0.05)

        def expire_and_clean_up() -> None:
            while not stopped.wait(1.0):
                clean_up(database)
                expire_leases(database)

        threads = [
            threading.Thread(target=plan),
            threading.Thread(target=expire_and_clean_up),
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stopped.set()
            for thread in threads:
                thread.join()
