"""DTLZ2 on the unit cube (Deb et al. 2002), with a chosen latency for each objective."""

import os
import time
from collections.abc import Mapping
from math import cos, pi, prod, sin

from counterpoise.wire.work import Job

# In the environment: how many objectives, and their latencies
M, LATENCIES = (
    "DEMO_OBJECTIVES",
    "DEMO_LATENCIES_S",
)


def dtlz2(x: Mapping[str, float], job: Job) -> float:
    """The job's objective, f1 to fm, after its latency."""
    number = int(job.objective.removeprefix("f")) - 1
    latencies = os.environ[LATENCIES].split(",")
    time.sleep(float(latencies[number]))
    return value(list(x.values()), number, int(os.environ[M]))


def value(x: list[float], number: int, m: int) -> float:
    """f_i = (1 + g) cos(x_1 π/2) … cos(x_{m-i} π/2) sin(x_{m-i+1} π/2), the sine left
    out for i = 1.
    """
    g = sum((x_k - 0.5) ** 2 for x_k in x[m - 1 :])
    cosines = [cos(x_k * pi / 2.0) for x_k in x[: m - 1 - number]]
    sine = sin(x[m - 1 - number] * pi / 2.0) if number else 1.0
    return (1.0 + g) * prod(cosines) * sine
