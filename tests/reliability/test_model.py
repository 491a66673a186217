"""Whatever happens to a study, in whatever order, leaves it as the model says; on both databases the same machine."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from app.store.database import Database
from tests.reliability.machine import Machine
from tests.reliability.script import EVENTS, Script


def run(database: Database, examples: int, length: int, *, derandomize: bool) -> None:
    how = settings(
        max_examples=examples,
        stateful_step_count=length,
        derandomize=derandomize,
        database=None,
        deadline=None,
        print_blob=not derandomize,
        phases=(Phase.explicit, Phase.generate) if derandomize else tuple(Phase),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(type("Here", (Machine,), {"url": database.url}), settings=how)


@pytest.mark.timeout(600)  # on a loaded machine
def test_a_study_is_what_the_model_says_after_whatever_happens(database: Database) -> None:
    run(database, examples=4, length=50, derandomize=True)


@pytest.mark.slow
def test_a_study_is_what_the_model_says_after_much_more(database: Database) -> None:
    run(database, examples=300, length=60, derandomize=False)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("guest", ["mass", pytest.param("crash", marks=pytest.mark.slow)])
def test_every_kind_of_event_is_as_the_model_says(database: Database, guest: str) -> None:
    """What a search by chance may leave out."""
    machine = type("Here", (Machine,), {"url": database.url})()
    try:
        Script(machine).play(guest)
    finally:
        machine.teardown()
    assert EVENTS - machine.seen == set()
