"""The plate's simulations for real workers.

Each run has a value of its own and is on disk when it ends.
"""

import json
import os
import random
import time
from pathlib import Path
from typing import Any

from counterpoise.wire.work import Job
from tests.e2e.plate_study import TAKES_S, evaluate

NOISE = 1e-6  # makes the values of two runs of one job differ
CLOSED = "closed"
# Of one slot of one worker, which runs one simulation after the other
_PROCESS = os.urandom(8).hex()


def _run(job: Job) -> dict[str, float]:
    time.sleep(TAKES_S[job.objective])
    _wait_at_gate(job.lease)
    value, also = evaluate(job.objective, job.x)
    values = {job.objective: value, **also}
    noisy = {name: value + random.uniform(0.0, NOISE) for name, value in values.items()}  # noqa: S311
    run = {
        "process": _PROCESS,
        "lease": job.lease,
        "objective": job.objective,
        "x": list(job.x.values()),
        "values": noisy,
    }
    _append(Path(os.environ["FINISHED"]), json.dumps(run) + "\n")
    return noisy


def _wait_at_gate(lease: str) -> None:
    """While the gate is closed the first run waits there; the others go on."""
    gate = Path(os.environ["GATE"])
    try:
        (gate / CLOSED).rename(gate / lease)
    except FileNotFoundError:
        return
    while (gate / lease).exists():
        time.sleep(0.01)


def _append(file: Path, line: str) -> None:
    """Durable when it returns."""
    number = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(number, line.encode())
        os.fsync(number)
    finally:
        os.close(number)


def mass(x: dict[str, float], job: Job) -> Any:
    return _run(job)


def drag(x: dict[str, float], job: Job) -> Any:
    return _run(job)


def stiffness(x: dict[str, float], job: Job) -> Any:
    return _run(job)
