"""Domain records with defaults, for tests of rules."""

from typing import Any

from app.domain.jobs import Attempt, Job
from app.domain.studies import Limits, Objective, Study
from counterpoise.wire.codes import JobState, Phase, StudyState
from counterpoise.wire.specification import parse_specification

LIMITS = Limits(max_attempts=3, max_losses=10, step=4, is_stopped=False)
SPEC = parse_specification(
    {
        "name": "wing",
        "variables": [{"name": "a", "low": 0.0, "high": 1.0}],
        "objectives": [
            {"name": "mass"},
            {"name": "lift", "same_run_as": "mass"},
            {"name": "crash"},
        ],
        "budget": 20,
        "initial_samples": 4,
        "batch_size": 2,
    }
)


def job(**changes: Any) -> Job:
    fields: dict[str, Any] = {
        "id": 7,
        "study": 1,
        "objective": 1,
        "sample": 5,
        "cheap_only": False,
        "step": 4,
        "state": JobState.LEASED,
        "lease": "mine",
        "leased_at": 40.0,
        "expires_at": 100.0,
        "ready_at": None,
        "attempts": 1,
        "errors": 0,
        "losses": 0,
        "sample_open": 2,
        "sample_waiting": 0,
        "sample_infeasible": False,
        "sample_planned": True,
    }
    return Job(**(fields | changes))


def attempt(**changes: Any) -> Attempt:
    fields: dict[str, Any] = {
        "job": 7,
        "number": 1,
        "lease": "mine",
        "worker": 3,
        "leased_at": 50.0,
        "ended_at": None,
        "outcome": None,
        "value": None,
        "failure": None,
        "message": None,
        "duration_s": None,
        "details": None,
        "age_s": 12.5,
    }
    return Attempt(**(fields | changes))


def study(**changes: Any) -> Study:
    fields: dict[str, Any] = {
        "id": 1,
        "name": "wing",
        "spec": SPEC,
        "seed": 1,
        "phase": Phase.SEARCH,
        "state": StudyState.ACTIVE,
        "budget": 20,
        "sequence": 30,
        "planned_full": 6,
        "settled_full": 4,
        "withdrawn": 0,
        "step": 1,
        "slow_slots": 0,
        "lookahead": 0,
        "imported": 0,
        "imported_complete": 0,
        "cancel_running": False,
        "created_at": 0.0,
        "finished_at": None,
        "ending": None,
    }
    return Study(**(fields | changes))


def objective(**changes: Any) -> Objective:
    fields: dict[str, Any] = {
        "id": 1,
        "study": 1,
        "position": 0,
        "name": "mass",
        "same_run_as": None,
        "lease_s": 60.0,
        "timeout_s": None,
        "ratio": 1.0,
        "cheap": None,
        "created": 6,
        "waiting": 0,
        "done": 4,
        "infeasible": 0,
        "failed": 0,
        "superseded": 0,
        "open_full": 2,
        "generation": 0,
    }
    return Objective(**(fields | changes))


OBJECTIVES = [
    objective(),
    objective(id=2, position=1, name="lift", same_run_as=1),
    objective(id=3, position=2, name="crash"),
]
