"""A small study with a constraint of its own run and one of the slow run."""

from typing import Any

# drag = a b is cheap, lift = b comes with the slow run
CONSTRAINTS: list[dict[str, Any]] = [
    {"name": "drag", "upper": 0.25, "evaluation_time_s": 1.0},
    {"name": "lift", "lower": 0.1, "same_run_as": "crash"},
]
CONSTRAINED: dict[str, Any] = {
    "budget": 8,
    "batch_size": 2,
    "generations": 3,
    "constraints": CONSTRAINTS,
}
