"""Steps that are planned while full samples still run."""

from typing import Any

import pytest

from app.service.planning.replay import replay
from app.service.planning.slots import follow_slots
from app.service.work.goodbye import goodbye
from app.store.database import Database
from app.store.tables import steps, studies
from counterpoise.wire.work import Job
from tests.service.lab import Lab

SMALL: dict[str, Any] = {"budget": 12, "batch_size": 1, "generations": 3}


def settle_design(lab: Lab) -> None:
    lab.plan()
    while jobs := lab.ask(most=50):
        for job in jobs:
            lab.tell(job)
    lab.plan()


def tell_cheap(lab: Lab) -> None:
    while jobs := lab.ask("mass", most=50):
        for job in jobs:
            lab.tell(job)


def search_steps(lab: Lab) -> list[dict[str, Any]]:
    return [row for row in lab.rows(steps) if row["kind"] == "search"]


def unsettled(lab: Lab) -> int:
    view = lab.view()
    return view.planned_full - view.evaluated_full


def test_a_declared_overlap_keeps_so_many_samples_running(database: Database) -> None:
    lab = Lab(database, **SMALL, overlap=2)
    settle_design(lab)
    assert unsettled(lab) == 3
    tell_cheap(lab)
    running = lab.ask("crash", most=10)
    assert len(running) == 3
    lab.tell(running[1])
    assert lab.plan() == 1
    assert unsettled(lab) == 3
    lab.check_counters()


def test_pending_samples_are_recorded_and_proposed_only_once(
    database: Database,
) -> None:
    lab = Lab(database, **SMALL, overlap=2)
    settle_design(lab)
    assert [len(row["inputs"]["pending"]) for row in search_steps(lab)] == [0, 1, 2]
    points = {tuple(job.x.values()) for job in lab.ask("crash", most=10)}
    assert len(points) == 3


@pytest.mark.parametrize("batch", [1, 2, "auto"])
def test_overlapped_steps_are_the_same_again(database: Database, batch: Any) -> None:
    """Runs end in another order than they began; a failure and a late value come in
    between.
    """
    lab = Lab(database, **SMALL | {"batch_size": batch}, overlap=3)
    settle_design(lab)
    held: list[Job] = []
    for round_ in range(100):
        tell_cheap(lab)
        held += lab.ask("crash", most=10)
        if not held:
            break
        job = held.pop(round_ % len(held))
        if round_ == 2:
            lab.fail(job, "infeasible")
        else:
            lab.tell(job)
        lab.plan()
    assert lab.view().phase == "finished"
    overlapped = [row for row in search_steps(lab) if row["inputs"]["pending"]]
    assert overlapped
    found = list(replay(database, lab.name, None))
    assert [(one.step, one.faults) for one in found if not one.equal] == []
    lab.check_counters()


def test_an_automatic_overlap_follows_the_slots_of_slow_workers(
    database: Database,
) -> None:
    lab = Lab(database, **SMALL)
    settle_design(lab)
    assert (lab.view().overlap, unsettled(lab)) == (0, 1)
    held = lab.ask("crash", most=4, worker="slow", instance="p1")
    lab.ask("mass", most=16, worker="fast")
    assert follow_slots(database) == 1
    assert follow_slots(database) == 0
    # The worker of the design's runs had asked for 50 jobs at once.
    slots = lab.view().slow_slots
    assert slots == 54
    lab.plan()
    assert unsettled(lab) == 12 - 4
    goodbye(database, "slow", "p1")
    assert len(held) == 1
    follow_slots(database)
    assert lab.view().slow_slots == 50


def test_a_drained_worker_has_no_slots(database: Database) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    lab.ask("crash", most=4, worker="slow")
    follow_slots(database)
    assert lab.view().overlap == 3
    from app.service.work.workers import drain

    drain(database, "slow", True)
    follow_slots(database)
    assert lab.view().overlap == 0


def test_tells_in_one_list_are_split_where_a_step_becomes_due(
    database: Database,
) -> None:
    """Told together or singly: each step reads the same prefix."""
    lab = Lab(database, **SMALL, overlap=2)
    settle_design(lab)
    tell_cheap(lab)
    running = lab.ask("crash", most=3)
    from app.service.work.tell import tell

    tell(database, [lab.tell_of(job) for job in running])
    step = search_steps(lab)[-1]
    (study,) = lab.rows(studies)
    assert step["state"] == "due"
    assert len(step["inputs"]["pending"]) == 2
    assert step["due_seq"] < study["sequence"] - 1
