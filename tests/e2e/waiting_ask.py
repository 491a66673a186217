"""An ask that waits at a server while the test does something else."""

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx

from tests.e2e.processes import PATIENCE_S, eventually

_numbers = itertools.count()
Answer = tuple[dict[str, Any], float]  # what was said, and when by the monotonic clock


@contextmanager
def waiting_ask(url: str, study: str, *objectives: str) -> Iterator["Future[Answer]"]:
    """Entered when the server holds the ask."""
    worker = f"waits {next(_numbers)}"
    body = {
        "worker": worker,
        "studies": [study],
        "objectives": objectives or ["*"],
        "wait_s": 60,
    }

    def ask() -> Answer:
        return client.post(
            "/ask", json=body
        ).raise_for_status().json(), time.monotonic()

    with (
        httpx.Client(base_url=url, timeout=PATIENCE_S + 60) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        future = pool.submit(ask)
        eventually(lambda: worker in names(url), "the ask")
        yield future


def names(url: str) -> set[str]:
    return {
        one["worker"]
        for one in httpx.get(f"{url}/workers", params={"limit": 1000}).json()["items"]
    }
