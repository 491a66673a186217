"""How busy slow slots are with a real server, planner and workers."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import create_engine, text

from benchmarks.server_processes import COMMAND, planning, serving
from benchmarks.service.clients import Client
from benchmarks.service.slow_runs import NOTES
from counterpoise.wire.codes import Phase

NAME = "slots"
PATIENCE_S = 900.0
_SEARCH_STEPS = text(
    "SELECT due_at, done_at FROM steps WHERE kind = 'search' ORDER BY number"
)
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Plan:
    slots: int = 8
    initial: int = 16
    budget: int = 256
    batch_size: int | str = 3
    overlap: int | str = "auto"


def run(plan: Plan) -> dict[str, Any]:
    """One study; busy is the time in which the slow function ran."""
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "bench.db"
        notes = Path(folder) / "notes"
        url = f"sqlite:///{database}"
        with serving(url) as port, planning(url):
            client = Client(port)
            client.post("/studies", specification(plan))
            slow = ("--objective", "slow=benchmarks.service.slow_runs:slow")
            cheap = ("--objective", "cheap=benchmarks.service.slow_runs:cheap")
            with (
                _worker(port, notes, folder, "slow", plan.slots, slow),
                _worker(port, notes, folder, "cheap", 2, cheap),
            ):
                study = _await_end(client)
        with create_engine(url).connect() as connection:
            steps = connection.execute(_SEARCH_STEPS).all()
        intervals = [_interval(line) for line in notes.read_text().splitlines()]
    share, span_s = busy_share(intervals, steps[0].due_at, plan.slots)
    planning_s = [step.done_at - step.due_at for step in steps]
    return {
        "slots": plan.slots,
        "overlap": plan.overlap,
        "batch_size": plan.batch_size,
        "slow_runs": len(intervals),
        "steps": study["step"],
        "first_step_s": planning_s[0],
        "step_s": median(planning_s[1:]),
        "search_s": span_s,
        "busy_in_search": share,
        "load_before": load_before,
        "load_after": os.getloadavg()[0],
    }


def specification(plan: Plan) -> dict[str, Any]:
    return {
        "name": NAME,
        "variables": [{"name": name, "low": 0.0, "high": 1.0} for name in "abc"],
        "objectives": [{"name": "cheap"}, {"name": "slow"}],
        "initial_samples": plan.initial,
        "budget": plan.budget,
        "batch_size": plan.batch_size,
        "overlap": plan.overlap,
        "seed": 1,
    }


def busy_share(
    intervals: Sequence[Interval], began: float, slots: int
) -> tuple[float, float]:
    """Share of the slots' time from `began` to the last start, and that span."""
    end = max(start for start, _ in intervals)
    busy = sum(
        max(min(stop, end) - max(start, began), 0.0) for start, stop in intervals
    )
    span = end - began
    return busy / (slots * span), span


def _interval(line: str) -> Interval:
    start, stop = line.split()
    return float(start), float(stop)


@contextmanager
def _worker(
    port: int,
    notes: Path,
    folder: str,
    name: str,
    slots: int,
    objective: tuple[str, str],
) -> Iterator[None]:
    arguments = ["worker", "--study", NAME, *objective, "--slots", str(slots)]
    arguments += ["--name", name, "--url", f"http://127.0.0.1:{port}"]
    arguments += ["--spool", str(Path(folder) / f"spool-{name}")]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", COMMAND, *arguments],
        env={**os.environ, NOTES: str(notes)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def _await_end(client: Client) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        study: dict[str, Any] = client.get(f"/studies/{NAME}")
        if study["phase"] == Phase.FINISHED:
            return study
        if time.monotonic() > deadline:
            raise RuntimeError(f"the study did not end: {study}")
        time.sleep(0.5)
