"""Races of withdrawal, cancellation, goodbye, promotion and overlap with tells and asks."""

import pytest

from app.errors import JobNotCancellable
from app.planner.planner import claim_due_step
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.planning.slots import follow_slots
from app.service.work.ask import serve_asks
from app.service.work.cancel import cancel_job
from app.service.work.goodbye import goodbye
from app.service.work.heartbeat import heartbeat
from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import jobs, samples, steps
from counterpoise.wire.codes import JobState
from counterpoise.wire.work import Failure, Job, Tell
from tests.reliability.faults.fault_processes import FaultPoints
from tests.reliability.faults.lab_states import (
    asks,
    jobs_in,
    lab_with_due_second_search,
    planned_lab,
)
from tests.service.lab import Lab

HEARTBEAT_S = 20.0


@pytest.fixture
def lab(database: Database) -> Lab:
    return planned_lab(database)


def infeasible(job: Job) -> Tell:
    return Tell(job=job.job, lease=job.lease, failure=Failure(kind="infeasible"))


def slow_job(lab: Lab, sample: int) -> int:
    rows = [row for row in lab.rows(jobs) if row["sample_id"] == sample]
    return max(int(row["id"]) for row in rows)


def test_withdrawal_beside_an_ask_cancels_the_new_lease(
    lab: Lab, faults: FaultPoints
) -> None:
    """The slow run was leased before its sample was ruled out."""
    (cheap,) = lab.ask("mass")
    with faults.held(
        "ask.written", serve_asks, lab.database, asks(4), HEARTBEAT_S
    ) as other:
        results = other.run_beside(lambda: tell(lab.database, [infeasible(cheap)]))
    assert results.other[0].state == JobState.INFEASIBLE
    (leased,) = results.held
    taken = {job.job: job.lease for job in leased}
    wasted = slow_job(lab, cheap.sample)
    if wasted in taken:
        (advice,) = heartbeat(lab.database, [taken[wasted]])
        assert advice.cancel
    else:
        assert lab.job(wasted)["state"] == JobState.SUPERSEDED
    lab.check_counters()


def test_ask_beside_a_withdrawal_starts_no_slow_run_of_the_sample(
    lab: Lab, faults: FaultPoints
) -> None:
    (cheap,) = lab.ask("mass")
    with faults.held(
        "tell.written", tell, lab.database, [infeasible(cheap)]
    ) as telling:
        results = telling.run_beside(lambda: lab.ask("crash", most=4))
    assert results.held[0].status == 200
    assert cheap.sample not in {job.sample for job in results.other}
    assert lab.job(slow_job(lab, cheap.sample))["state"] == JobState.SUPERSEDED
    lab.check_counters()


@pytest.mark.parametrize("fail", [False, True])
def test_cancel_beside_a_tell_keeps_the_value(
    lab: Lab, faults: FaultPoints, fail: bool
) -> None:
    (job,) = lab.ask("crash")

    def cancel() -> str:
        try:
            return str(cancel_job(lab.database, job.job, fail=fail))
        except JobNotCancellable:
            return "refused"

    with faults.held(
        "tell.written", tell, lab.database, [lab.tell_of(job, 1.0)]
    ) as telling:
        results = telling.run_beside(cancel)
    assert (results.held[0].status, results.other) == (200, "refused")
    assert lab.values() == [(1.0, None)]
    lab.check_counters()


def test_goodbye_beside_a_tell_keeps_the_value(lab: Lab, faults: FaultPoints) -> None:
    told, held = lab.ask("crash", most=2, worker="node", instance="p1")
    with faults.held(
        "tell.written", tell, lab.database, [lab.tell_of(told, 1.0)]
    ) as telling:
        results = telling.run_beside(lambda: goodbye(lab.database, "node", "p1"))
    assert results.held[0].status == 200
    assert results.other == [held.lease]
    assert lab.values() == [(1.0, None)]
    assert lab.job(held.job)["state"] == JobState.READY
    lab.check_counters()


def plan_with_promotion(database: Database, sample: int) -> bool:
    """Execute the due step as if its strategy had promoted the sample."""
    step = claim_due_step(database)
    assert step is not None
    plan = compute_step(database, step)
    plan.promoted = [sample]
    plan.samples = [new for new in plan.samples if not new.full]
    return commit_step(database, step, plan)


def ready_cheap_only_sample(lab: Lab) -> int:
    """Its only job is ready, and would be superseded by the next step."""
    rows = [row for row in lab.rows(jobs) if row["cheap_only"]]
    ready = [row["sample_id"] for row in rows if row["state"] == JobState.READY]
    return int(ready[0])


@pytest.mark.parametrize("point", ["step.computed", "step.written"])
def test_ask_beside_a_promotion(
    database: Database, faults: FaultPoints, point: str
) -> None:
    """Whoever is first, the sample is full afterwards, and its cheap run is one job."""
    lab, _ = lab_with_due_second_search(database)
    sample = ready_cheap_only_sample(lab)
    with faults.held(point, plan_with_promotion, database, sample) as planner:
        results = planner.run_beside(lambda: lab.ask("mass", most=100))
    assert results.held
    own = [row for row in lab.rows(jobs) if row["sample_id"] == sample]
    assert not any(row["cheap_only"] for row in own)
    assert len({row["objective_id"] for row in own}) == len(own) == 2
    assert {row["state"] for row in own} <= {JobState.READY, JobState.LEASED}
    (promoted,) = [row for row in lab.rows(samples) if row["id"] == sample]
    assert promoted["full"]
    lab.check_counters()


def test_slots_that_arrive_beside_a_tell_make_one_step_due(
    database: Database, faults: FaultPoints
) -> None:
    lab = Lab(database, generations=1, batch_size=2, overlap="auto", budget=12)
    lab.plan()
    lab.run_until(1)
    first, _ = lab.ask("crash", most=2, worker="slow")
    for job in lab.ask("mass", most=50):
        lab.tell(job)
    with faults.held(
        "tell.written", tell, database, [lab.tell_of(first, 1.0)]
    ) as telling:
        results = telling.run_beside(lambda: follow_slots(database))
    assert results.held[0].status == 200
    due = [row for row in lab.rows(steps) if row["state"] == "due"]
    assert [(row["kind"], row["number"]) for row in due] == [("search", 2)]
    assert jobs_in(lab, "leased")
    lab.check_counters()
