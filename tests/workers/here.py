"""A server and a planner in this process: there at once, and light beside many workers."""

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
    """Answers the URL."""
    with bind("127.0.0.1", 0) as listener, planning_here(database_url):
        server = Server(uvicorn.Config(create_app(load_settings(database_url=database_url)), log_config=None))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        eventually(lambda: server.started, "the server")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.handle_exit(signal.SIGTERM, None)  # those who wait are answered
            thread.join()


@contextmanager
def planning_here(database_url: str) -> Iterator[None]:
    over = threading.Event()
    with closing(Database(database_url)) as database:

        def plan() -> None:
            while not over.is_set():
                if not plan_one(database):
                    over.wait(0.05)

        def keep_house() -> None:
            while not over.wait(1.0):
                clean_up(database)
                expire_leases(database)

        threads = [threading.Thread(target=plan), threading.Thread(target=keep_house)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()
