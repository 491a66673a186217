"""The study of these tests: objectives with very different evaluation costs, and many
optional fields of a specification.
"""

import math
from typing import Any

SPEC: dict[str, Any] = {
    "name": "plate",
    "variables": [
        {"name": "span", "low": 1.5, "high": 4.0},
        {"name": "ribs", "type": "int", "low": 3, "high": 12},
        {"name": "skin", "low": 1e-4, "high": 1e-2, "scale": "log"},
    ],
    "objectives": [
        {"name": "mass"},
        {"name": "drag"},
        {"name": "lift", "direction": "maximize", "same_run_as": "drag"},
        {"name": "stiffness", "direction": "maximize"},
    ],
    "ratios": {"mass": 8, "drag": 3},
    "budget": 12,
    "initial_samples": 6,
    "batch_size": 2,
    # The order of tells alone decides what is proposed
    "overlap": 0,
    "generations": 3,
    "seed": 7,
}
TAKES_S = {"mass": 0.02, "drag": 0.04, "stiffness": 0.15}


def evaluate(objective: str, x: dict[str, float]) -> tuple[float, dict[str, float]]:
    """The objective's value, and those that come out of the same run."""
    span, ribs, skin = x["span"], x["ribs"], x["skin"]
    if objective == "mass":
        return span * (1600.0 * skin + 0.02 * ribs), {}
    if objective == "drag":
        return (span - 2.2) ** 2 + 0.05 * ribs - 0.02 * math.log(skin), {
            "lift": span**1.5 / (1.0 + 10.0 * skin)
        }
    return ribs * math.sqrt(skin) / span, {}
