# ruff: noqa: T201  (simulations print)
"""Simulations with every kind of behaviour, loaded by evaluation processes."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import counterpoise


def span(x: dict[str, float]) -> float:
    return x["span"]


def skin(x: dict[str, float]) -> float:
    return x["skin"]


def quick(x: dict[str, float]) -> float:
    print("looking at", x["span"])
    return x["span"] ** 2


def several(x: dict[str, float]) -> dict[str, float]:
    return {"drag": x["span"], "lift": 2 * x["span"], "other": 1.0}


def knows_its_job(x: dict[str, float], job: Any) -> float:
    assert type(x["ribs"]) is int
    return float(job.seed)


def infeasible(x: dict[str, float]) -> float:
    raise counterpoise.Infeasible(f"span {x['span']} folds")


def infrastructure(x: dict[str, float]) -> float:
    raise counterpoise.Infrastructure("no licence")


def raises(x: dict[str, float]) -> float:
    print("before the trouble")
    raise ZeroDivisionError("nothing to divide")


def leaves(x: dict[str, float]) -> float:
    sys.exit("enough")


def segfault(x: dict[str, float]) -> float:
    print("before the crash")
    return float(len(ctypes.string_at(0)))


def exits(x: dict[str, float]) -> float:
    os._exit(3)


def hangs(x: dict[str, float]) -> float:
    """Starts a process of its own, as a wrapper around a solver does."""
    print("hanging")
    own = subprocess.Popen(["sleep", "600"])
    if "PIDS" in os.environ:
        Path(os.environ["PIDS"]).write_text(f"{os.getpid()} {own.pid}")
    time.sleep(600)
    return 0.0


def talks(x: dict[str, float]) -> float:
    for number in range(100_000):
        print("line", number)
    raise ValueError("too much")


def slow(x: dict[str, float]) -> float:
    """Creates a file when it begins, and waits until another one exists."""
    folder = Path(os.environ["GATE"])
    (folder / f"begun-{os.getpid()}").touch()
    while not (folder / "open").exists():
        time.sleep(0.02)
    return x["span"]


def forks(x: dict[str, float]) -> float:
    """One copy ends, as copies usually do; the other returns by mistake."""
    if (copy := os.fork()) == 0:
        sys.exit(7)
    if os.fork() == 0:
        return -1.0
    return float(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))


def process(x: dict[str, float]) -> float:
    return float(os.getpid())
