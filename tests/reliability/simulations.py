"""The plate's simulations for real workers. Each run ends with a value of its own, and is on disk when it has ended."""

import json
import os
import random
import time
from pathlib import Path
from typing import Any

from counterpoise.wire.work import Job
from tests.e2e.plate import TAKES_S, evaluate

NOISE = 1e-6  # tells two runs of one job apart
CLOSED = "closed"
_PROCESS = os.urandom(8).hex()  # of one slot of one worker: it runs one simulation after the other


def _run(job: Job) -> dict[str, float]:
    time.sleep(TAKES_S[job.objective])
    _pass_the_gate(job.lease)
    value, also = evaluate(job.objective, job.x)
    said = {name: each + random.uniform(0.0, NOISE) for name, each in {job.objective: value, **also}.items()}  # noqa: S311
    note = {
        "process": _PROCESS,
        "lease": job.lease,
        "objective": job.objective,
        "x": list(job.x.values()),
        "said": said,
    }
    _note(Path(os.environ["FINISHED"]), json.dumps(note) + "\n")
    return said


def _pass_the_gate(lease: str) -> None:
    """While it is closed the first who comes waits there; the others go on."""
    gate = Path(os.environ["GATE"])
    try:
        (gate / CLOSED).rename(gate / lease)
    except FileNotFoundError:
        return
    while (gate / lease).exists():
        time.sleep(0.01)


def _note(file: Path, line: str) -> None:
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
