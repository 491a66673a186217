"""After any events in any order a study equals its reference model; the same machine
runs on both databases.
"""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from app.store.database import Database
from tests.reliability.machine.machine import Machine
from tests.reliability.machine.scenario import EXPECTED_EVENTS, Scenario


def machine_on(database: Database) -> type[Machine]:
    return type("MachineOnDatabase", (Machine,), {"url": database.url})


def run_random_rules(
    database: Database,
    examples: int,
    rules: int,
    *,
    derandomize: bool,
) -> None:
    profile = settings(
        max_examples=examples,
        stateful_step_count=rules,
        derandomize=derandomize,
        database=None,
        deadline=None,
        print_blob=not derandomize,
        phases=(Phase.explicit, Phase.generate) if derandomize else tuple(Phase),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine_on(database), settings=profile)


@pytest.mark.slow_on("sqlite")
@pytest.mark.timeout(600)  # on a loaded machine
def test_study_equals_model_after_random_events(database: Database) -> None:
    run_random_rules(database, examples=4, rules=50, derandomize=True)


@pytest.mark.slow
def test_study_equals_model_after_many_random_events(database: Database) -> None:
    run_random_rules(database, examples=300, rules=60, derandomize=False)


@pytest.mark.slow_on("postgresql")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "run_of_two", ["mass", pytest.param("crash", marks=pytest.mark.slow)]
)
def test_study_equals_model_after_every_kind_of_event(
    database: Database, run_of_two: str
) -> None:
    """The random events can miss some kinds; these are all of them."""
    machine = machine_on(database)()
    try:
        Scenario(machine).run(run_of_two)
    finally:
        machine.teardown()
    assert EXPECTED_EVENTS - machine.seen == set()
