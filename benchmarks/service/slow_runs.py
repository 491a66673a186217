"""Objectives for the benchmark of slow slots: each call notes when it ran."""

import os
import random
import time
from pathlib import Path

NOTES = "SLOW_RUNS_NOTES"  # the file of beginnings and ends
SHORTEST_S, LONGEST_S = 0.3, 1.7
CHEAP_S = 0.05


def slow(x: dict[str, float]) -> float:
    """Takes 0.3 to 1.7 s, 1 s on average."""
    began = time.time()
    seconds = random.Random(repr(x)).uniform(SHORTEST_S, LONGEST_S)  # noqa: S311
    time.sleep(seconds)
    note = f"{began} {time.time()}\n".encode()
    # One write to a file opened for appending is not torn
    with Path(os.environ[NOTES]).open("ab", buffering=0) as file:
        file.write(note)
    return (x["a"] - 1.0) ** 2 + x["b"] ** 2 + (x["c"] - 0.5) ** 2


def cheap(x: dict[str, float]) -> float:
    """Takes a twentieth of a slow run: the largest ratio that a study counts."""
    time.sleep(CHEAP_S)
    return x["a"] ** 2 + (x["b"] - 1.0) ** 2
