"""Cheap-only samples that a step completes."""

from typing import Any

import pytest

from app.planner.planner import claim_due_step
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.planning.replay import replay
from app.store.database import Database
from app.store.tables import jobs, samples
from counterpoise.wire.codes import JobState
from tests.service.lab import Lab

SMALL: dict[str, Any] = {"budget": 10, "batch_size": 2, "generations": 3, "overlap": 0}


@pytest.fixture
def lab(database: Database) -> Lab:
    """A study whose second search step is due; its first had cheap-only samples."""
    lab = Lab(database, **SMALL)
    lab.plan()
    lab.run_until(1)
    while got := lab.ask("mass", most=50):
        for job in got:
            lab.tell(job)
    for job in lab.ask("crash", most=50):
        lab.tell(job)
    return lab


def cheap_only(lab: Lab) -> list[int]:
    return [row["id"] for row in lab.rows(samples) if not row["full"]]


def promote(lab: Lab, *numbers: int) -> None:
    """Execute the due step as if its strategy had promoted these samples."""
    step = claim_due_step(lab.database)
    assert step is not None
    plan = compute_step(lab.database, step)
    plan.promoted = list(numbers)
    plan.samples = [sample for sample in plan.samples if not sample.full]
    plan.record["promoted"] = list(numbers)
    assert commit_step(lab.database, step, plan)


def test_a_promoted_sample_gets_jobs_only_for_what_it_lacks(lab: Lab) -> None:
    planned = lab.view().planned_full
    first, second = cheap_only(lab)[-2:]
    promote(lab, first, second)
    assert lab.view().planned_full == planned + 2
    own = [row for row in lab.rows(jobs) if row["sample_id"] == first]
    assert [row["state"] for row in own] == [JobState.DONE, JobState.READY]
    assert {job.sample for job in lab.ask("crash", most=9)} == {first, second}
    lab.check_counters()


def test_the_study_goes_on_and_earlier_steps_are_the_same_again(lab: Lab) -> None:
    promote(lab, *cheap_only(lab)[-2:])
    lab.run()
    lab.check_counters()
    assert lab.view().phase == "finished"
    different = [
        one.step for one in replay(lab.database, lab.name, None) if not one.equal
    ]
    assert different == ["search:2"]  # whose promotion this test made up


def test_a_sample_that_was_ruled_out_meanwhile_is_not_promoted(
    database: Database,
) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    lab.run_until(1)
    held = lab.ask("mass", most=50)
    for job in lab.ask("crash", most=50):
        lab.tell(job)
    ruled_out = next(job for job in held if job.sample in cheap_only(lab))
    for job in held:
        if job is not ruled_out:
            lab.tell(job)
    step = claim_due_step(database)
    assert step is not None
    plan = compute_step(database, step)
    plan.promoted = [ruled_out.sample]
    lab.fail(ruled_out, "infeasible")
    assert commit_step(database, step, plan)
    assert ruled_out.sample in cheap_only(lab)
    lab.check_counters()


def test_a_superseded_run_of_a_promoted_sample_is_ready_again(
    database: Database,
) -> None:
    lab = Lab(database, **SMALL)
    lab.plan()
    lab.run_until(1)
    while got := [job for job in lab.ask(most=50) if job.sample not in cheap_only(lab)]:
        for job in got:
            lab.tell(job)
    number = cheap_only(lab)[-1]
    lab.expire()
    promote(lab, number)
    own = [row for row in lab.rows(jobs) if row["sample_id"] == number]
    assert {row["state"] for row in own} == {JobState.READY}
    assert not any(row["cheap_only"] for row in own)
    lab.check_counters()
