"""Starts a worker's loop with a server in memory; retries do not wait."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from counterpoise.worker.config import WorkerConfig
from counterpoise.worker.loop import WorkerLoop
from counterpoise.worker.results.spool import Spool
from counterpoise.worker.worker_log import WorkerLog
from tests.worker.fake_server import FakeServer
from tests.worker.loop.running_worker import HeldEvaluator, Run, RunningWorker


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.worker.jobs.slots.LONGEST_REST_S", 0.02)
    for module in ("results.teller", "jobs.asker", "jobs.heartbeats"):
        monkeypatch.setattr(
            f"counterpoise.worker.{module}.pause_s", lambda _failures: 0.02
        )


@pytest.fixture
def run(tmp_path: Path) -> Run:
    @contextmanager
    def start(
        server: FakeServer, evaluator: HeldEvaluator | None = None, **options: Any
    ) -> Iterator[RunningWorker]:
        evaluator = evaluator or HeldEvaluator()
        failures: list[Exception] = []
        log = io.StringIO()
        spool = Spool(tmp_path / "spool")
        with server.client() as client:
            config = WorkerConfig("me", ("wing",), **options)
            loop = WorkerLoop(
                client, {"drag": evaluator}, spool, config, WorkerLog(True, log)
            )

            def run_loop() -> None:
                try:
                    loop.run()
                except Exception as error:  # noqa: BLE001
                    failures.append(error)

            thread = threading.Thread(target=run_loop, daemon=True)
            worker = RunningWorker(server, evaluator, loop, thread, failures, log)
            thread.start()
            try:
                yield worker
            finally:
                loop.stop()
                loop.stop()
                worker.join()
                spool.close()

    return start
